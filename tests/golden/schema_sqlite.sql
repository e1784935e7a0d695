CREATE TABLE IF NOT EXISTS langchain_rag_schema (
	component TEXT NOT NULL,
	version INTEGER NOT NULL,
	PRIMARY KEY (component)
);

CREATE TABLE IF NOT EXISTS langchain_rag_documents (
	namespace TEXT NOT NULL,
	"key" TEXT NOT NULL,
	page_content TEXT NOT NULL,
	id TEXT,
	metadata TEXT NOT NULL,
	PRIMARY KEY (namespace, "key")
);

CREATE TABLE IF NOT EXISTS langchain_rag_claims (
	namespace TEXT NOT NULL,
	"key" TEXT NOT NULL,
	writer TEXT NOT NULL,
	PRIMARY KEY (namespace, "key")
);

CREATE INDEX IF NOT EXISTS ix_langchain_rag_claims_writer ON langchain_rag_claims (writer);

CREATE TABLE IF NOT EXISTS langchain_rag_full_text_settings (
	namespace TEXT NOT NULL,
	made_with TEXT NOT NULL,
	behind INTEGER NOT NULL,
	PRIMARY KEY (namespace)
);

CREATE TABLE IF NOT EXISTS langchain_rag_variations (
	namespace TEXT NOT NULL,
	"key" TEXT NOT NULL,
	transformer TEXT NOT NULL,
	created_at DOUBLE NOT NULL,
	characters INTEGER NOT NULL,
	pieces TEXT NOT NULL,
	PRIMARY KEY (namespace, "key")
);

CREATE TABLE IF NOT EXISTS langchain_rag_embeddings (
	namespace TEXT NOT NULL,
	"key" TEXT NOT NULL,
	model TEXT NOT NULL,
	created_at DOUBLE NOT NULL,
	bytes INTEGER NOT NULL,
	vector BLOB NOT NULL,
	PRIMARY KEY (namespace, "key")
);

CREATE TABLE IF NOT EXISTS upsertion_record (
	uuid VARCHAR NOT NULL,
	"key" VARCHAR,
	namespace VARCHAR NOT NULL,
	group_id VARCHAR,
	updated_at FLOAT,
	PRIMARY KEY (uuid),
	CONSTRAINT uix_key_namespace UNIQUE ("key", namespace)
);

CREATE INDEX IF NOT EXISTS ix_key_namespace ON upsertion_record ("key", namespace);

CREATE INDEX IF NOT EXISTS ix_upsertion_record_group_id ON upsertion_record (group_id);

CREATE INDEX IF NOT EXISTS ix_upsertion_record_key ON upsertion_record ("key");

CREATE INDEX IF NOT EXISTS ix_upsertion_record_namespace ON upsertion_record (namespace);

CREATE INDEX IF NOT EXISTS ix_upsertion_record_updated_at ON upsertion_record (updated_at);

CREATE INDEX IF NOT EXISTS ix_upsertion_record_uuid ON upsertion_record (uuid);

CREATE TABLE IF NOT EXISTS langchain_rag_full_text_spaces (
	space INTEGER NOT NULL,
	namespace TEXT NOT NULL,
	prefix TEXT NOT NULL,
	documents BIGINT NOT NULL,
	length BIGINT NOT NULL,
	PRIMARY KEY (space),
	UNIQUE (namespace, prefix)
);

CREATE TABLE IF NOT EXISTS langchain_rag_full_text (
	id INTEGER NOT NULL,
	namespace TEXT NOT NULL,
	"key" TEXT NOT NULL,
	PRIMARY KEY (id),
	UNIQUE (namespace, "key")
);

CREATE VIRTUAL TABLE IF NOT EXISTS langchain_rag_full_text_tokens
USING fts5(tokens, tokenize = 'ascii', detail = 'none', columnsize = 0);

CREATE VIRTUAL TABLE IF NOT EXISTS langchain_rag_full_text_frequencies
USING fts5vocab(langchain_rag_full_text_tokens, 'row');
