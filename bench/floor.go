package main

import (
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"holdfast/actor/store"
	"holdfast/worker/host/sqlite"
)

// The floor of an acknowledgement: a Go server that does nothing but verify the signature and make one FULL commit,
// with the same SQLite and the same settings as an actor's database.

const (
	floorTable  = `CREATE TABLE IF NOT EXISTS seen (id INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT`
	floorInsert = `INSERT INTO seen (body) VALUES (?)`
)

// floorArgs say which floor.
type floorArgs struct {
	Key   string // hex of the public key
	Group bool   // requests that wait together share a commit
}

func serveFloor(t task, ready func(http.Handler) error) error {
	var args floorArgs
	if err := json.Unmarshal(t.Args, &args); err != nil {
		return err
	}
	key, err := hex.DecodeString(args.Key)
	if err != nil {
		return err
	}
	l, err := openLedger(filepath.Join(t.Data, "floor.db"))
	if err != nil {
		return err
	}
	record := l.one
	if args.Group {
		record = l.together
		go l.group()
	}
	return ready(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		signature, bad := hex.DecodeString(r.Header.Get("X-Signature-Ed25519"))
		message := append([]byte(r.Header.Get("X-Signature-Timestamp")), body...)
		switch {
		case err != nil || bad != nil || !ed25519.Verify(key, message, signature):
			http.Error(w, "no", http.StatusUnauthorized)
		case record(string(body)) != nil:
			http.Error(w, "no", http.StatusInternalServerError)
		default:
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"type":5}`)
		}
	}))
}

// ledger is a database into which rows go, durably.
type ledger struct {
	mu      sync.Mutex
	db      *sqlite.DB
	waiting chan entry
}

type entry struct {
	body string
	done chan error
}

func openLedger(path string) (*ledger, error) {
	db, err := sqlite.Open(path)
	if err != nil {
		return nil, err
	}
	l := &ledger{db: db, waiting: make(chan entry, 64)}
	return l, l.transaction(func() error {
		_, err := db.Do(floorTable, nil)
		return err
	})
}

func (l *ledger) transaction(f func() error) error {
	if err := l.db.Begin(); err != nil {
		return err
	}
	if err := f(); err != nil {
		_ = l.db.Rollback() // the first error counts
		return err
	}
	return l.db.Commit()
}

func (l *ledger) insert(body string) error {
	_, err := l.db.Do(floorInsert, []store.Value{body})
	return err
}

// one commits a row by itself.
func (l *ledger) one(body string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.transaction(func() error { return l.insert(body) })
}

// together commits a row with all that wait at the same time.
func (l *ledger) together(body string) error {
	e := entry{body, make(chan error, 1)}
	l.waiting <- e
	return <-e.done
}

func (l *ledger) group() {
	for first := range l.waiting {
		batch := []entry{first}
		for more := true; more; {
			select {
			case e := <-l.waiting:
				batch = append(batch, e)
			default:
				more = false
			}
		}
		err := l.transaction(func() error {
			for _, e := range batch {
				if err := l.insert(e.body); err != nil {
					return err
				}
			}
			return nil
		})
		for _, e := range batch {
			e.done <- err
		}
	}
}

// commits is the floor of durable steps: n FULL commits of one row of size bytes, one after another.
func (l *ledger) commits(n, size int) (sample, error) {
	var s sample
	body := string(make([]byte, size))
	for range n {
		begin := time.Now()
		if err := l.one(body); err != nil {
			return s, err
		}
		s = append(s, time.Since(begin))
	}
	return s, nil
}

func (l *ledger) close() error { return l.db.Close() }
