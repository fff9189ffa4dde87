"""Addresses of log-in and one's own account: the views of django-allauth that we offer, no others.

Names are allauth's, which finds its own views by them.
"""

from allauth.account import views as account
from allauth.mfa.base import views as second_factor
from allauth.mfa.recovery_codes import views as recovery_codes
from allauth.mfa.totp import views as totp
from allauth.socialaccount import views as provider
from allauth.socialaccount.providers.openid_connect import views as oidc
from django.urls import URLPattern, path, re_path

from governance.web import account_views

urlpatterns: list[URLPattern] = [
    path("login", account.login, name="account_login"),
    path("logout", account.logout, name="account_logout"),
    path("login/inactive", account.account_inactive, name="account_inactive"),
    path("login/code", second_factor.authenticate, name="mfa_authenticate"),
    path("login/failed", provider.login_error, name="socialaccount_login_error"),
    path("login/cancelled", provider.login_cancelled, name="socialaccount_login_cancelled"),
    path("oidc/<str:provider_id>/login", account_views.oidc_login, name="openid_connect_login"),
    path("oidc/<str:provider_id>/callback", oidc.callback, name="openid_connect_callback"),
    path("password/reset", account_views.password_reset, name="account_reset_password"),
    path("password/reset/sent", account.password_reset_done, name="account_reset_password_done"),
    re_path(
        "^password/reset/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>[^/]+)$",
        account.password_reset_from_key,
        name="account_reset_password_from_key",
    ),
    path(
        "password/reset/done",
        account.password_reset_from_key_done,
        name="account_reset_password_from_key_done",
    ),
    path("account", account_views.own_account, name="account"),
    path("account/workspace", account_views.work_in, name="work_in"),
    path("account/password", account.password_change, name="account_change_password"),
    path("account/password/first", account.password_set, name="account_set_password"),
    path("account/confirm", account.reauthenticate, name="account_reauthenticate"),
    path("account/confirm/code", second_factor.reauthenticate, name="mfa_reauthenticate"),
    path("account/second-factor", account_views.second_factor, name="mfa_index"),
    path("account/second-factor/add", totp.activate_totp, name="mfa_activate_totp"),
    path("account/second-factor/remove", totp.deactivate_totp, name="mfa_deactivate_totp"),
    path(
        "account/recovery-codes",
        recovery_codes.view_recovery_codes,
        name="mfa_view_recovery_codes",
    ),
    path(
        "account/recovery-codes/new",
        recovery_codes.generate_recovery_codes,
        name="mfa_generate_recovery_codes",
    ),
    path(
        "account/recovery-codes/file",
        recovery_codes.download_recovery_codes,
        name="mfa_download_recovery_codes",
    ),
]
