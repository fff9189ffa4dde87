"""Detectors: what a reviewer should look at twice. They flag, rules decide."""
