"""The bounds of the wire format, in one place. ``docs/protocol.md`` documents each."""

AGENT_ID_MAX = 256  # characters, as the protocol says
USER_ID_MAX = 256  # characters, as the protocol says
CONTENT_MAX = 100_000  # characters
SOURCE_MAX = 1_024  # characters
REASON_MAX = 4_000  # characters
QUERY_MAX = 20_000  # characters
MEMORY_ID_MAX = 128  # characters; ours are 26
ID_LIST_MAX = 1_000  # items in forget.ids and merge.duplicates
METADATA_MAX_BYTES = 65_536  # of its JSON text, UTF-8
JSON_MAX_DEPTH = 32
BODY_MAX_BYTES = 1_048_576
RECALL_K_MAX = 1_000

# A time is an integer of milliseconds since 1970, UTC. Anything below this bound would lie before
# 1973-03-03 as milliseconds and in our lifetime as seconds: it can only be seconds.
EPOCH_MS_MIN = 100_000_000_000
EPOCH_MS_MAX = 253_402_300_799_999  # the end of the year 9999
DAYS_MAX = 365_000
