"""Django's settings for accounts: django-allauth with nothing on that nobody configured.

Nobody signs up: accounts come from invitations and the command ``member``.
"""

from typing import Any

from memorywire_site.environment import Environment

PROVIDER = "sso"
"""The provider's name in addresses: /oidc/sso/login."""

APPS = [
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
]


def settings_of(environment: Environment) -> dict[str, Any]:
    """Every setting of allauth that is not its default."""
    return {
        "ACCOUNT_ADAPTER": "governance.accounts.AccountAdapter",
        "ACCOUNT_USER_MODEL_USERNAME_FIELD": None,
        "ACCOUNT_LOGIN_METHODS": {"email"},
        "ACCOUNT_SIGNUP_FIELDS": ["email*", "password1*"],
        "ACCOUNT_EMAIL_VERIFICATION": "none",  # whoever invites vouches for the address
        "ACCOUNT_EMAIL_UNKNOWN_ACCOUNTS": False,
        "ACCOUNT_EMAIL_NOTIFICATIONS": bool(environment.email_url),
        "ACCOUNT_EMAIL_SUBJECT_PREFIX": "memorywire: ",
        # Beside five wrong passwords for one address, which lock it for five minutes. An office
        # shares one address of the network.
        "ACCOUNT_RATE_LIMITS": {"login": "120/m/ip", "login_failed": "30/m/ip,5/300s/key"},
        "ACCOUNT_SESSION_REMEMBER": True,
        "ACCOUNT_DEFAULT_HTTP_PROTOCOL": "https" if environment.is_https else "http",
        "ACCOUNT_LOGOUT_REDIRECT_URL": "account_login",
        "ACCOUNT_REAUTHENTICATION_REQUIRED": True,
        "MFA_ADAPTER": "governance.accounts.SecondFactorAdapter",
        "MFA_SUPPORTED_TYPES": ["totp", "recovery_codes"],
        "MFA_TOTP_ISSUER": "memorywire",
        "MFA_ALLOW_UNVERIFIED_EMAIL": True,
        "SOCIALACCOUNT_ADAPTER": "governance.accounts.ProviderAdapter",
        "SOCIALACCOUNT_EMAIL_AUTHENTICATION": False,  # the adapter decides who is who
        "SOCIALACCOUNT_LOGIN_ON_GET": True,  # only starts it; the provider's answer carries a state
        "SOCIALACCOUNT_AUTO_SIGNUP": True,  # which the adapter closes: no form in between
        "SOCIALACCOUNT_PROVIDERS": _providers(environment),
    }


def _providers(environment: Environment) -> dict[str, Any]:
    if not environment.oidc_url:
        return {}
    app = {
        "provider_id": PROVIDER,
        "name": environment.oidc_name,
        "client_id": environment.oidc_client_id,
        "secret": environment.oidc_client_secret,
        "settings": {"server_url": environment.oidc_url, "oauth_pkce_enabled": True},
    }
    return {"openid_connect": {"APPS": [app]}}
