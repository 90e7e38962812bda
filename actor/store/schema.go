package store

import "fmt"

// Workspace are the migrations of a workspace's database, in order. A landed migration never changes: add another.
// Each is a list of single statements.
//
// Times are in ms of the actor's own clock (spec 3.1, rule 7) except where a column says wall. Ids of Discord are
// TEXT. Every open row of task, delivery and outbox has a due, a closed one has none; the CHECKs hold the code to it. They
// say a = 'x' OR a = 'y', because SQLite makes a table of the list of an IN each time it checks a row.
var Workspace = [][]string{{
	`CREATE TABLE document(
		name TEXT PRIMARY KEY, version INTEGER NOT NULL, body TEXT NOT NULL) STRICT, WITHOUT ROWID`,
	`CREATE TABLE member(
		kind TEXT NOT NULL CHECK (kind = 'user' OR kind = 'role'), id TEXT NOT NULL,
		can TEXT NOT NULL CHECK (can = 'member' OR can = 'approver' OR can = 'admin'),
		PRIMARY KEY (kind, id, can)) STRICT, WITHOUT ROWID`,
	`CREATE TABLE conversation(
		id INTEGER PRIMARY KEY, title TEXT NOT NULL, creator TEXT NOT NULL,
		channel TEXT NOT NULL,
		place TEXT,
		head INTEGER NOT NULL DEFAULT 0,
		model TEXT NOT NULL DEFAULT '',
		created_wall INTEGER NOT NULL, active_wall INTEGER NOT NULL) STRICT`,
	`CREATE INDEX conversation_by_channel ON conversation(channel, active_wall)`,
	`CREATE TABLE thread(
		id TEXT PRIMARY KEY, conversation INTEGER NOT NULL REFERENCES conversation(id),
		state TEXT NOT NULL CHECK (state = 'open' OR state = 'archived' OR state = 'locked' OR state = 'deleted'),
		attached INTEGER NOT NULL) STRICT, WITHOUT ROWID`,
	`CREATE TABLE entry(
		id INTEGER PRIMARY KEY, conversation INTEGER NOT NULL REFERENCES conversation(id),
		kind TEXT NOT NULL CHECK (kind = 'user' OR kind = 'assistant' OR kind = 'tool_result' OR kind = 'system'
			OR kind = 'reset' OR kind = 'compaction' OR kind = 'interrupted'),
		turn INTEGER, task INTEGER, body TEXT NOT NULL, created_wall INTEGER NOT NULL) STRICT`,
	`CREATE INDEX entry_by_conversation ON entry(conversation, id)`,
	`CREATE TRIGGER entry_is_immutable BEFORE UPDATE ON entry BEGIN SELECT RAISE(ABORT, 'entries never change'); END`,
	`CREATE TRIGGER entry_is_kept BEFORE DELETE ON entry BEGIN SELECT RAISE(ABORT, 'entries are never deleted'); END`,
	`CREATE TABLE submission(
		id INTEGER PRIMARY KEY, conversation INTEGER REFERENCES conversation(id),
		key TEXT NOT NULL UNIQUE, source TEXT NOT NULL CHECK (source = 'interaction' OR source = 'message'),
		author TEXT NOT NULL, author_name TEXT NOT NULL, content TEXT NOT NULL, attachments TEXT NOT NULL,
		channel TEXT NOT NULL,
		state TEXT NOT NULL CHECK (state = 'queued' OR state = 'placed' OR state = 'done' OR state = 'unanswered'),
		reason TEXT NOT NULL DEFAULT '', turn INTEGER,
		created_wall INTEGER NOT NULL, settled_wall INTEGER) STRICT`,
	`CREATE INDEX submission_queued ON submission(conversation, id) WHERE state = 'queued'`,
	`CREATE INDEX submission_by_turn ON submission(turn)`,
	`CREATE INDEX submission_by_channel ON submission(channel, id) WHERE source = 'message'`,
	`CREATE TABLE turn(
		id INTEGER PRIMARY KEY, conversation INTEGER NOT NULL REFERENCES conversation(id),
		requester TEXT NOT NULL, acknowledged INTEGER NOT NULL DEFAULT 0,
		rounds INTEGER NOT NULL DEFAULT 0, restarts INTEGER NOT NULL DEFAULT 0,
		tokens INTEGER NOT NULL DEFAULT 0, micros INTEGER NOT NULL DEFAULT 0,
		notice TEXT NOT NULL DEFAULT '', remark TEXT NOT NULL DEFAULT '',
		answer TEXT, started_wall INTEGER NOT NULL, ended_wall INTEGER) STRICT`,
	`CREATE UNIQUE INDEX one_live_turn ON turn(conversation) WHERE ended_wall IS NULL`,
	`CREATE TABLE task(
		id INTEGER PRIMARY KEY, kind TEXT NOT NULL CHECK (kind = 'generation' OR kind = 'tool' OR kind = 'approval'),
		conversation INTEGER NOT NULL REFERENCES conversation(id), turn INTEGER NOT NULL REFERENCES turn(id),
		parent INTEGER, round INTEGER NOT NULL DEFAULT 0,
		state TEXT NOT NULL CHECK (state = 'ready' OR state = 'running' OR state = 'waiting' OR state = 'done'
			OR state = 'failed' OR state = 'interrupted' OR state = 'cancelled' OR state = 'parked'),
		due INTEGER, owner TEXT NOT NULL DEFAULT '', epoch INTEGER NOT NULL DEFAULT 0, lease_expires INTEGER,
		starts INTEGER NOT NULL DEFAULT 0,
		tool TEXT NOT NULL DEFAULT '', call_id TEXT NOT NULL DEFAULT '', args TEXT NOT NULL DEFAULT '',
		args_hash TEXT NOT NULL DEFAULT '', safe INTEGER NOT NULL DEFAULT 0,
		decision TEXT NOT NULL DEFAULT '', approved TEXT NOT NULL DEFAULT '',
		checkpoint TEXT NOT NULL DEFAULT '{}',
		created_wall INTEGER NOT NULL, started_wall INTEGER, ended_wall INTEGER, ms INTEGER NOT NULL DEFAULT 0,
		CHECK ((state = 'ready' OR state = 'running' OR state = 'waiting') = (due IS NOT NULL))) STRICT`,
	`CREATE INDEX task_due ON task(due) WHERE due IS NOT NULL`,
	`CREATE INDEX task_by_turn ON task(turn, id)`,
	`CREATE UNIQUE INDEX one_live_generation ON task(conversation) WHERE kind = 'generation' AND due IS NOT NULL`,
	`CREATE UNIQUE INDEX one_approval ON task(parent) WHERE kind = 'approval' AND due IS NOT NULL`,
	`CREATE TABLE delivery(
		id INTEGER PRIMARY KEY, kind TEXT NOT NULL,
		op TEXT NOT NULL CHECK (op = 'create' OR op = 'original' OR op = 'edit' OR op = 'delete' OR op = 'thread'),
		conversation INTEGER, turn INTEGER, task INTEGER,
		channel TEXT, message TEXT, token TEXT NOT NULL DEFAULT '', body TEXT NOT NULL DEFAULT '',
		part INTEGER NOT NULL DEFAULT 0,
		state TEXT NOT NULL CHECK (state = 'pending' OR state = 'sending' OR state = 'unknown'
			OR state = 'confirmed' OR state = 'failed'),
		due INTEGER, owner TEXT NOT NULL DEFAULT '', epoch INTEGER NOT NULL DEFAULT 0, lease_expires INTEGER,
		attempts INTEGER NOT NULL DEFAULT 0, first INTEGER, sent INTEGER NOT NULL DEFAULT 0,
		final INTEGER NOT NULL DEFAULT 0, dirty INTEGER NOT NULL DEFAULT 0, uncertain INTEGER NOT NULL DEFAULT 0, lookup TEXT NOT NULL DEFAULT '', floor TEXT NOT NULL DEFAULT '',
		reason TEXT NOT NULL DEFAULT '', created_wall INTEGER NOT NULL,
		CHECK (due IS NOT NULL OR (state = 'confirmed' OR state = 'failed' OR state = 'unknown')),
		CHECK (due IS NULL OR (state = 'pending' OR state = 'sending' OR state = 'unknown'))) STRICT`,
	`CREATE INDEX delivery_due ON delivery(due) WHERE due IS NOT NULL`,
	`CREATE INDEX delivery_by_turn ON delivery(turn, kind)`,
	`CREATE INDEX delivery_by_channel ON delivery(channel, id) WHERE message IS NOT NULL`,
	`CREATE TABLE hold(
		bucket TEXT PRIMARY KEY, until INTEGER NOT NULL, why TEXT NOT NULL, strikes INTEGER NOT NULL DEFAULT 1) STRICT, WITHOUT ROWID`,
	`CREATE TABLE blob(
		hash TEXT NOT NULL, seq INTEGER NOT NULL, total INTEGER NOT NULL, data BLOB NOT NULL,
		PRIMARY KEY (hash, seq)) STRICT, WITHOUT ROWID`,
	`CREATE TABLE part(
		effect TEXT NOT NULL, epoch INTEGER NOT NULL, seq INTEGER NOT NULL, state TEXT NOT NULL,
		PRIMARY KEY (effect, epoch)) STRICT, WITHOUT ROWID`,
	`CREATE TABLE usage(
		id INTEGER PRIMARY KEY, task INTEGER NOT NULL, epoch INTEGER NOT NULL, turn INTEGER NOT NULL,
		user TEXT NOT NULL, model TEXT NOT NULL, state TEXT NOT NULL CHECK (state = 'reserved' OR state = 'settled'),
		input INTEGER NOT NULL, output INTEGER NOT NULL, micros INTEGER NOT NULL, created_wall INTEGER NOT NULL,
		UNIQUE (task, epoch)) STRICT`,
	`CREATE INDEX usage_reserved ON usage(task) WHERE state = 'reserved'`,
	`CREATE TABLE audit(
		id INTEGER PRIMARY KEY, actor TEXT NOT NULL, action TEXT NOT NULL, ref TEXT NOT NULL, detail TEXT NOT NULL,
		created_wall INTEGER NOT NULL) STRICT`,
	`CREATE TABLE event(
		id INTEGER PRIMARY KEY, name TEXT NOT NULL, turn INTEGER, ref TEXT NOT NULL DEFAULT '',
		detail TEXT NOT NULL DEFAULT '', created_wall INTEGER NOT NULL) STRICT`,
	`CREATE INDEX event_by_turn ON event(turn, id)`,
}, {
	`CREATE TABLE review(
		id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, submission INTEGER REFERENCES submission(id),
		event TEXT NOT NULL DEFAULT '',
		verdict TEXT NOT NULL CHECK (verdict = 'unknown' OR verdict = 'absent' OR verdict = 'begun'
			OR verdict = 'unclear' OR verdict = 'answered' OR verdict = 'continued' OR verdict = 'stopped'),
		found TEXT NOT NULL DEFAULT '', place TEXT NOT NULL DEFAULT '',
		due INTEGER, owner TEXT NOT NULL DEFAULT '', epoch INTEGER NOT NULL DEFAULT 0, tries INTEGER NOT NULL DEFAULT 0,
		created_wall INTEGER NOT NULL,
		CHECK ((verdict = 'unknown') = (due IS NOT NULL))) STRICT`,
	`CREATE INDEX review_due ON review(due) WHERE due IS NOT NULL`,
}, {
	// The sums of usage by day (unix days, UTC), user and model, reservations included.
	`CREATE TABLE spend(
		day INTEGER NOT NULL, user TEXT NOT NULL, model TEXT NOT NULL, tokens INTEGER NOT NULL, micros INTEGER NOT NULL,
		PRIMARY KEY (day, user, model)) STRICT, WITHOUT ROWID`,
	`INSERT INTO spend SELECT created_wall / 86400000, user, model, sum(input + output), sum(micros) FROM usage GROUP BY 1, 2, 3`,
}, {
	// The unix day (UTC) that a payload came on, by which it is deleted; those that are there count as of the first day.
	`ALTER TABLE blob ADD COLUMN day INTEGER NOT NULL DEFAULT 0`,
	`CREATE INDEX blob_by_day ON blob(day)`,
	`CREATE INDEX event_forbidden ON event(created_wall) WHERE name = 'discord.forbidden'`,
}}

// Directory are the migrations of a directory's database.
var Directory = [][]string{{
	`CREATE TABLE binding(
		channel TEXT NOT NULL, since TEXT NOT NULL, workspace TEXT NOT NULL, created_wall INTEGER NOT NULL,
		PRIMARY KEY (channel, since)) STRICT, WITHOUT ROWID`,
}}

// Application are the migrations of the application directory's database.
var Application = [][]string{{
	`CREATE TABLE circuit(
		id INTEGER PRIMARY KEY CHECK (id = 1), until_wall INTEGER NOT NULL, why TEXT NOT NULL, reported_by TEXT NOT NULL) STRICT`,
}, {
	`CREATE TABLE pace(id INTEGER PRIMARY KEY CHECK (id = 1), next_wall INTEGER NOT NULL) STRICT`,
	`CREATE TABLE share(holder TEXT PRIMARY KEY, until_wall INTEGER NOT NULL) STRICT, WITHOUT ROWID`,
}}

// Migrate brings the database to the newest schema. It refuses a database that is newer than this program.
func Migrate(tx Tx, migrations [][]string) error {
	tx.Exec(`CREATE TABLE IF NOT EXISTS meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID`)
	have := 0
	if row, ok := tx.Row(`SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'schema'`); ok {
		have = int(row.Int(0))
	}
	if have > len(migrations) {
		return fmt.Errorf("database has schema %d, this program knows %d: run a newer holdfast", have, len(migrations))
	}
	if have == len(migrations) {
		return nil
	}
	for _, m := range migrations[have:] {
		for _, statement := range m {
			tx.Exec(statement)
		}
	}
	tx.Exec(`INSERT INTO meta(key, value) VALUES ('schema', ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value`,
		fmt.Sprint(len(migrations)))
	return nil
}
