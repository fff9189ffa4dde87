"""Django settings, derived from ``Environment``. Nothing else reads environment variables."""

from csp.constants import NONE, SELF

from memorywire_site import (
    __version__,
    databases,
    environment,
    log_in,
    logs,
    mail,
    secret_files,
    shared,
)

ENVIRONMENT = environment.load()
VERSION = __version__
HOME = ENVIRONMENT.home
#: Asked before anything is put there.
HOME_WAS_EMPTY = not HOME.is_dir() or not any(HOME.iterdir())
HOME.mkdir(parents=True, exist_ok=True, mode=0o700)  # live memories lie here in clear

_LEDGER = HOME / "ledger.sqlite3"
_SECRETS = HOME / "secrets"
secret_files.check_not_lost(_SECRETS / "master.key", ledger=_LEDGER)
SECRET_KEY = secret_files.read_or_create(_SECRETS, "django.key", bytes_long=48)
#: Wraps the workspaces' keys and authenticates the audit log. 32 bytes as hex.
MASTER_KEY = secret_files.read_or_create(_SECRETS, "master.key", bytes_long=32)

DEBUG = ENVIRONMENT.debug
ALLOWED_HOSTS = [
    ENVIRONMENT.public_host,
    "localhost",
    "127.0.0.1",
    "[::1]",
    *ENVIRONMENT.allowed_hosts,
]
CSRF_TRUSTED_ORIGINS = [ENVIRONMENT.address]

INSTALLED_APPS = [
    "channels",
    "django.contrib.admin.apps.SimpleAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    *log_in.APPS,
    "django_htmx",
    "csp",
    "governance",
]

MIDDLEWARE = [
    "governance.web.middleware.request_id",
    "governance.web.observing.observe",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "governance.api.answering.complete",
]

#: The API's own, all asynchronous: see memorywire_site/api_handler.py.
API_MIDDLEWARE = [
    "governance.web.middleware.request_id",
    "governance.web.observing.observe",
    "governance.web.middleware.transport_security",
    "governance.api.answering.complete",
]

ROOT_URLCONF = "memorywire_site.urls"
ASGI_APPLICATION = "memorywire_site.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [environment.ASSETS / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

EMBEDDED_LEDGER = databases.sqlite(_LEDGER)
DATABASES = {
    "default": databases.postgresql(ENVIRONMENT.database_url)
    if ENVIRONMENT.database_url
    else EMBEDDED_LEDGER,
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_USER_MODEL = "governance.User"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "queue"
globals().update(log_in.settings_of(ENVIRONMENT))

globals().update(mail.server(ENVIRONMENT.email_url))
DEFAULT_FROM_EMAIL = ENVIRONMENT.email_from

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = "static/"
STATICFILES_DIRS = [environment.ASSETS / "static"]
STATIC_ROOT = HOME / "static"
STATIC_ROOT.mkdir(exist_ok=True)  # whitenoise looks here too and complains of nothing
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedStaticFilesStorage"},
}
# Serves straight from the packages and the source tree: no collectstatic before the first start.
WHITENOISE_USE_FINDERS = True

# Security. Cookies and redirects follow the public address, so that plain http works on loopback
# and nowhere else by accident.
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = ENVIRONMENT.is_https
SESSION_COOKIE_HTTPONLY = True
SECURE_SSL_REDIRECT = ENVIRONMENT.is_https
# Asked on the machine itself, past the proxy that speaks https.
SECURE_REDIRECT_EXEMPT = ["^livez$", "^readyz$", "^metrics$"]
SECURE_HSTS_SECONDS = 31_536_000 if ENVIRONMENT.is_https else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = ENVIRONMENT.is_https
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    },
}

#: What everything this installation keeps in Redis begins with.
SHARED_PREFIX = shared.PREFIX
CHANNEL_LAYERS = {"default": shared.channel_layer(ENVIRONMENT.redis_url)}
CACHES = {"default": shared.cache(ENVIRONMENT.redis_url)}

CELERY_BROKER_URL, CELERY_BROKER_TRANSPORT_OPTIONS = shared.broker(ENVIRONMENT.redis_url)
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TASK_ACKS_LATE = True  # tasks are short and safe to run twice: none is lost with a worker
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_IGNORE_RESULT = True
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_REDIRECT_STDOUTS = False
CELERY_WORKER_ENABLE_REMOTE_CONTROL = False
CELERY_TASK_DEFAULT_QUEUE = "maintenance"
CELERY_TASK_ROUTES = {"governance.tasks.deliver_due": {"queue": "delivery"}}
CELERY_BEAT_SCHEDULE = {
    "sweep-expired": {
        "task": "governance.tasks.sweep_expired",
        "schedule": ENVIRONMENT.sweep_interval_seconds,
    },
    "fill-stores": {
        "task": "governance.tasks.fill_stores",
        "schedule": ENVIRONMENT.sweep_interval_seconds,
    },
    "deliver-due": {
        "task": "governance.tasks.deliver_due",
        "schedule": ENVIRONMENT.sweep_interval_seconds,
    },
}

STORE_URLS = ENVIRONMENT.store_urls or [databases.store_beside(ENVIRONMENT.database_url, HOME)]
EMBEDDER = ENVIRONMENT.embedder

LOGGING = logs.configuration(level=ENVIRONMENT.log_level, format=ENVIRONMENT.log_format)
