CREATE TABLE IF NOT EXISTS langchain_rag_schema (
	component TEXT NOT NULL,
	version INTEGER NOT NULL,
	PRIMARY KEY (component)
);

CREATE TABLE IF NOT EXISTS langchain_rag_documents (
	namespace TEXT COLLATE "C" NOT NULL,
	key TEXT COLLATE "C" NOT NULL,
	page_content TEXT NOT NULL,
	id TEXT,
	metadata TEXT NOT NULL,
	PRIMARY KEY (namespace, key)
);

CREATE TABLE IF NOT EXISTS langchain_rag_claims (
	namespace TEXT COLLATE "C" NOT NULL,
	key TEXT COLLATE "C" NOT NULL,
	writer TEXT NOT NULL,
	PRIMARY KEY (namespace, key)
);

CREATE INDEX IF NOT EXISTS ix_langchain_rag_claims_writer ON langchain_rag_claims (writer);

CREATE TABLE IF NOT EXISTS langchain_rag_full_text_settings (
	namespace TEXT COLLATE "C" NOT NULL,
	made_with TEXT NOT NULL,
	behind INTEGER NOT NULL,
	PRIMARY KEY (namespace)
);

CREATE TABLE IF NOT EXISTS langchain_rag_variations (
	namespace TEXT COLLATE "C" NOT NULL,
	key TEXT COLLATE "C" NOT NULL,
	transformer TEXT NOT NULL,
	created_at DOUBLE PRECISION NOT NULL,
	characters INTEGER NOT NULL,
	pieces TEXT NOT NULL,
	PRIMARY KEY (namespace, key)
);

CREATE TABLE IF NOT EXISTS langchain_rag_embeddings (
	namespace TEXT COLLATE "C" NOT NULL,
	key TEXT COLLATE "C" NOT NULL,
	model TEXT NOT NULL,
	created_at DOUBLE PRECISION NOT NULL,
	bytes INTEGER NOT NULL,
	vector BYTEA NOT NULL,
	PRIMARY KEY (namespace, key)
);

CREATE TABLE IF NOT EXISTS upsertion_record (
	uuid VARCHAR NOT NULL,
	key VARCHAR,
	namespace VARCHAR NOT NULL,
	group_id VARCHAR,
	updated_at FLOAT,
	PRIMARY KEY (uuid),
	CONSTRAINT uix_key_namespace UNIQUE (key, namespace)
);

CREATE INDEX IF NOT EXISTS ix_key_namespace ON upsertion_record (key, namespace);

CREATE INDEX IF NOT EXISTS ix_upsertion_record_group_id ON upsertion_record (group_id);

CREATE INDEX IF NOT EXISTS ix_upsertion_record_key ON upsertion_record (key);

CREATE INDEX IF NOT EXISTS ix_upsertion_record_namespace ON upsertion_record (namespace);

CREATE INDEX IF NOT EXISTS ix_upsertion_record_updated_at ON upsertion_record (updated_at);

CREATE INDEX IF NOT EXISTS ix_upsertion_record_uuid ON upsertion_record (uuid);

CREATE TABLE IF NOT EXISTS langchain_rag_full_text_spaces (
	space SERIAL NOT NULL,
	namespace TEXT COLLATE "C" NOT NULL,
	prefix TEXT COLLATE "C" NOT NULL,
	documents BIGINT NOT NULL,
	length BIGINT NOT NULL,
	PRIMARY KEY (space),
	UNIQUE (namespace, prefix)
);

CREATE TABLE IF NOT EXISTS langchain_rag_full_text (
	id BIGINT NOT NULL,
	namespace TEXT COLLATE "C" NOT NULL,
	key TEXT COLLATE "C" NOT NULL,
	tokens TSVECTOR NOT NULL,
	PRIMARY KEY (id),
	UNIQUE (namespace, key)
);

CREATE SEQUENCE IF NOT EXISTS langchain_rag_full_text_sequence;

CREATE INDEX IF NOT EXISTS langchain_rag_full_text_tokens
ON langchain_rag_full_text USING gin (tokens);
