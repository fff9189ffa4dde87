"""Who there is: people and service accounts, workspaces, memberships, API keys."""

from typing import Any, ClassVar

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.db import models
from django.db.models.functions import Lower

from governance.ids import new_id
from governance.models.fields import EpochMsField, ExactJsonField


class UserManager(BaseUserManager["User"]):
    def create_user(self, email: str, password: str | None = None, **fields: Any) -> "User":
        user = self.model(email=self.normalize_email(email), **fields)
        user.set_password(password)  # None makes it unusable
        user.save(using=self._db)
        return user

    def get_by_natural_key(self, username: str | None) -> "User":
        """Found in any case, as addresses are unique in any case."""
        return self.get(email__iexact=username)

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> "User":
        return self.create_user(email, password, is_staff=True, is_superuser=True, **fields)


class User(AbstractBaseUser, PermissionsMixin):
    """A person, or a service account that owns keys and can never log in."""

    email = models.EmailField(unique=True)
    name = models.CharField(max_length=150, blank=True)
    current_workspace = models.ForeignKey(
        "Workspace", on_delete=models.SET_NULL, null=True, related_name="+"
    )
    """The one of their workspaces whose pages they see; null: the first they came into."""
    is_service = models.BooleanField(default=False)
    is_active = models.BooleanField(default=True)
    is_staff = models.BooleanField(default=False)
    date_joined = models.DateTimeField(auto_now_add=True)

    objects: ClassVar[UserManager] = UserManager()

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS = ["name"]

    class Meta:
        constraints = [
            # Addresses that differ in case only would be two people to us and one to their mail.
            models.UniqueConstraint(Lower("email"), name="user_email_any_case"),
        ]

    def __str__(self) -> str:
        return self.label

    @property
    def label(self) -> str:
        """The name shown to others; the address where there is none."""
        return self.name or self.email


class Workspace(models.Model):
    """A wall: nothing of one workspace is ever seen from another."""

    id = models.CharField(primary_key=True, max_length=26, default=new_id, editable=False)
    slug = models.SlugField(unique=True)
    name = models.CharField(max_length=150)
    wrapped_key = models.BinaryField(editable=False)
    """The workspace's key, wrapped by the installation's master key."""
    created_at_ms = EpochMsField()

    def __str__(self) -> str:
        return self.name


class Role(models.TextChoices):
    REVIEWER = "reviewer"
    ADMIN = "admin"
    AUDITOR = "auditor"


class Membership(models.Model):
    """What a person may do in a workspace: any of ``Role``."""

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE)
    user = models.ForeignKey(User, on_delete=models.CASCADE)
    roles = ExactJsonField(default=list)
    agents = ExactJsonField(null=True)
    """Agents whose proposals, memories and audit rows a reviewer sees; null: every agent's."""

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workspace", "user"], name="one_membership")]

    def __str__(self) -> str:
        return f"{self.user_id} in {self.workspace_id}"

    def has(self, *roles: Role) -> bool:
        return any(role.value in self.roles for role in roles)

    def sees(self, agent_id: str) -> bool:
        """Whether what this agent does is shown to them."""
        return self.agents is None or agent_id in self.agents


class Scope(models.TextChoices):
    """What an API key may call."""

    REMEMBER = "remember"
    RECALL = "recall"
    FORGET = "forget"
    MERGE = "merge"
    EXPIRE = "expire"
    IMPORT = "import"
    """Choose ``id`` and ``created_at`` on remember: for moving memories in."""


class ApiKey(models.Model):
    """A bearer key. Only a digest of it is kept; the key itself is shown once."""

    id = models.CharField(primary_key=True, max_length=26, default=new_id, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE)
    owner = models.ForeignKey(User, on_delete=models.PROTECT)
    """Who answers for the key, and so can never approve what it proposes."""
    name = models.CharField(max_length=150, blank=True)
    prefix = models.CharField(max_length=16, unique=True)
    """The key's readable beginning, by which people and the audit log name it."""
    digest = models.CharField(max_length=64)
    agents = ExactJsonField(null=True)
    """Agent ids the key is good for; null: every agent of the workspace."""
    scopes = ExactJsonField(default=list)
    created_at_ms = EpochMsField()
    expires_at_ms = EpochMsField(null=True)
    revoked_at_ms = EpochMsField(null=True)
    last_used_at_ms = EpochMsField(null=True)
    """To the minute; see ``governance.key_use``."""
    calls_per_minute = models.PositiveIntegerField(null=True)
    """How often it may call; null: as often as the setting says. 0: as often as it likes."""
    successor = models.OneToOneField("self", on_delete=models.PROTECT, null=True)
    """The key it was rotated into."""

    def __str__(self) -> str:
        return f"mw_{self.prefix}"

    def is_valid(self, *, now_ms: int) -> bool:
        """Whether it opens anything now."""
        ended = self.expires_at_ms is not None and self.expires_at_ms <= now_ms
        return self.revoked_at_ms is None and not ended
