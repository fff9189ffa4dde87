"""The rules of a workspace: the only mutator of them. Each change is a version and an audit row."""

from governance.rules.change import access_rule, add, change, put, switch
from governance.rules.sentence import sentence
from governance.rules.terms import Terms, check

__all__ = ["Terms", "access_rule", "add", "change", "check", "put", "sentence", "switch"]
