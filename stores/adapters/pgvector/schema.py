"""The tables, made when the store is first used.

Every workspace has a partition of its own, so that its indexes hold nobody else's memories and it
can be dropped whole. Replicas speak to their partition by name: planning costs the same however
many there are.

An erased memory keeps its row with nothing but id and version, so that a late write loses. Words
are stemmed and then kept as digests: PostgreSQL never takes an entry out of the index of words, so
that plain words would outlive the memories they are from.
"""

import hashlib
from typing import Final

import psycopg
from psycopg import sql

from stores.adapters.pgvector.address import Address
from stores.errors import EmbedderMismatch, StoreRefused

VERSION: Final = 1
SERVER_MIN: Final = 160_000
PGVECTOR_MIN: Final = (0, 8)
#: pgvector indexes no vector that is longer; a store of longer ones measures every row.
INDEXED_DIMENSIONS_MAX: Final = 2_000
#: Of a word, this many places in a text are kept: what counts is whether it comes up again.
PLACES_PER_WORD: Final = 8

_SCHEMA: Final = """
CREATE TABLE installation (key text PRIMARY KEY, value text NOT NULL);

CREATE TEXT SEARCH DICTIONARY stem (TEMPLATE = pg_catalog.snowball, LANGUAGE = porter);

CREATE FUNCTION term(word text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT left(md5(coalesce((ts_lexize({stem}, left(word, 500)))[1], word)), 10)
$$;

CREATE FUNCTION terms(words text[]) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(string_agg(term || ':' || places, ' ')::tsvector, '')
    FROM (
        SELECT term, string_agg(least(place, 16383)::text, ',') AS places
        FROM (
            SELECT {schema}.term(word) AS term, place,
                row_number() OVER (PARTITION BY {schema}.term(word) ORDER BY place) AS nth
            FROM unnest(words) WITH ORDINALITY AS said(word, place)
        ) AS placed
        WHERE nth <= {places}
        GROUP BY term
    ) AS kept
$$;

CREATE TABLE memory (
    workspace text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    agent_id text COLLATE "C",
    user_id text COLLATE "C",
    -- Equal for two rows of no user, unlike user_id.
    user_key text COLLATE "C" GENERATED ALWAYS AS (coalesce('=' || user_id, '')) STORED,
    type text,
    created_at bigint,
    is_visible boolean NOT NULL DEFAULT false,
    record text,
    deleted_at bigint,
    archived_at bigint,
    demoted_at bigint,
    last_recalled_at bigint,
    session text COLLATE "C",
    word_count integer,
    words tsvector,
    -- Not compressed and not moved elsewhere: every search measures it.
    embedding vector({dimensions}) STORAGE PLAIN,
    PRIMARY KEY (workspace, id)
) PARTITION BY LIST (workspace);

CREATE INDEX ON memory (agent_id, user_id, id) WHERE is_visible;
CREATE INDEX ON memory (agent_id, user_key, created_at, id)
    WHERE is_visible AND type = 'episodic';
CREATE INDEX ON memory (agent_id, user_key, session, created_at, id)
    WHERE is_visible AND type = 'episodic' AND session IS NOT NULL;
CREATE INDEX ON memory USING gin (words) WHERE is_visible;
"""
_VECTOR_INDEX: Final = """
CREATE INDEX ON memory USING hnsw (embedding vector_cosine_ops) WHERE is_visible;
"""


def partition(workspace: str) -> str:
    """The name of the table that holds a workspace's memories."""
    return f"memory_{hashlib.blake2b(workspace.encode(), digest_size=16).hexdigest()}"


async def prepare(
    connection: psycopg.AsyncConnection, address: Address, *, model_id: str, dimensions: int
) -> None:
    """Make the schema if it is missing; check that an old one fits.

    Raises: StoreRefused, EmbedderMismatch; what the driver raises.
    """
    if connection.info.server_version < SERVER_MIN:
        raise StoreRefused("pgvector: PostgreSQL 16 or newer is needed")
    async with connection.transaction():
        await _one_at_a_time(connection, address)
        # Where it is to be found from now on, whatever schema an administrator chose.
        if await _vector_schema(connection) is None:
            await connection.execute("CREATE EXTENSION vector SCHEMA public")
        await use(connection, address)
        if await _is_missing(connection, address):
            await _create(connection, address, model_id, dimensions)
        await _check(connection, model_id, dimensions)


async def use(connection: psycopg.AsyncConnection, address: Address) -> None:
    """Let a connection find the store's tables and pgvector's types."""
    places = [address.schema, await _vector_schema(connection) or "public"]
    await connection.execute(
        sql.SQL("SET search_path TO {}").format(sql.SQL(", ").join(map(sql.Identifier, places)))
    )


async def add_partition(
    connection: psycopg.AsyncConnection, address: Address, workspace: str
) -> None:
    """Make a workspace's partition if it is missing. Others go on reading and writing meanwhile."""
    name = partition(workspace)
    async with connection.transaction():
        found = await connection.execute("SELECT to_regclass(%s)", (name,))
        if await found.fetchone() != (None,):
            return
        await _one_at_a_time(connection, address)
        table = sql.Identifier(name)
        await connection.execute(
            sql.SQL(
                "CREATE TABLE IF NOT EXISTS {} (LIKE memory INCLUDING ALL EXCLUDING STATISTICS)"
            ).format(table)
        )
        attached = await connection.execute(
            "SELECT relispartition FROM pg_class WHERE oid = to_regclass(%s)", (name,)
        )
        if await attached.fetchone() == (True,):
            return  # another process was faster
        # Attaching takes a lock that lets readers and writers of other partitions pass; to create
        # a table as a partition would not.
        await connection.execute(
            sql.SQL("ALTER TABLE memory ATTACH PARTITION {} FOR VALUES IN ({})").format(
                table, sql.Literal(workspace)
            )
        )


async def _one_at_a_time(connection: psycopg.AsyncConnection, address: Address) -> None:
    await connection.execute(
        "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"memorywire {address.schema}",)
    )


async def _vector_schema(connection: psycopg.AsyncConnection) -> str | None:
    found = await connection.execute(
        "SELECT nspname FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace"
        " WHERE extname = 'vector'"
    )
    row = await found.fetchone()
    return None if row is None else str(row[0])


async def _is_missing(connection: psycopg.AsyncConnection, address: Address) -> bool:
    found = await connection.execute("SELECT to_regclass(%s)", (f"{address.schema}.installation",))
    return await found.fetchone() == (None,)


async def _create(
    connection: psycopg.AsyncConnection, address: Address, model_id: str, dimensions: int
) -> None:
    schema = sql.Identifier(address.schema)
    await connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(schema))
    tables = _SCHEMA + (_VECTOR_INDEX if dimensions <= INDEXED_DIMENSIONS_MAX else "")
    await connection.execute(
        tables.format(
            schema=address.schema,
            stem=f"'{address.schema}.stem'::regdictionary",
            dimensions=int(dimensions),
            places=PLACES_PER_WORD,
        )
    )
    kept = {"version": str(VERSION), "embedder": model_id, "dimensions": str(dimensions)}
    for item in kept.items():
        await connection.execute("INSERT INTO installation VALUES (%s, %s)", item)


async def _check(connection: psycopg.AsyncConnection, model_id: str, dimensions: int) -> None:
    installed = await connection.execute(
        "SELECT extversion FROM pg_extension WHERE extname = 'vector'"
    )
    (extension,) = await installed.fetchone() or ("0",)
    if tuple(map(int, extension.split(".")[:2])) < PGVECTOR_MIN:
        raise StoreRefused(
            "pgvector: the extension's version 0.8 or newer is needed:"
            " ALTER EXTENSION vector UPDATE"
        )
    cursor = await connection.execute("SELECT key, value FROM installation")
    held: dict[str, str] = dict(await cursor.fetchall())
    if held["version"] != str(VERSION):
        raise StoreRefused(
            f"pgvector: the store has schema {held['version']}, this version reads {VERSION}"
        )
    if (held["embedder"], held["dimensions"]) != (model_id, str(dimensions)):
        raise EmbedderMismatch(
            f"the store holds vectors of {held['embedder']!r} ({held['dimensions']} dimensions), "
            f"not of {model_id!r} ({dimensions}): embed its memories again, or configure that model"
        )
