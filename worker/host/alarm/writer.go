package alarm

import (
	"time"

	"holdfast/actor/store"
)

// writer puts what waits into one transaction, so that a thousand actors share a disk's syncs.
func (x *Index) writer() {
	defer close(x.done)
	for {
		select {
		case w := <-x.writes:
			x.save(x.gather(w))
		case <-x.stop:
			return
		}
	}
}

// gather takes everything that is already waiting.
func (x *Index) gather(w write) []write {
	batch := []write{w}
	for {
		select {
		case w := <-x.writes:
			batch = append(batch, w)
		default:
			return batch
		}
	}
}

func (x *Index) save(batch []write) {
	rows := map[string]row{}
	x.mu.Lock()
	x.sweep(rows)
	for _, w := range batch {
		switch {
		case w.expect:
			rows[w.actor] = row{x.entry(w.actor).saved.due, true}
		case w.actor != "":
			rows[w.actor] = w.row
		}
	}
	for name, r := range rows {
		e := x.entry(name)
		if e.writing != nil {
			r = weaker(*e.writing, r)
		}
		e.writing = &r
	}
	x.mu.Unlock()
	err := x.write(rows)
	x.mu.Lock()
	for _, w := range batch {
		if w.expect {
			x.entry(w.actor).expected = nil
		}
	}
	x.wrote(rows, err)
	x.mu.Unlock()
	for _, w := range batch {
		if w.done != nil {
			w.done <- err
		}
	}
}

// sweep takes what differs from the disk and has come to rest. The rest waits for another sweep.
func (x *Index) sweep(rows map[string]row) {
	if !x.dirty {
		return
	}
	x.dirty = false
	rested := time.Now().Add(-lazily)
	for name, e := range x.entries {
		switch {
		case e.settled() || e.open:
		case x.closed || e.changed.Before(rested):
			rows[name] = e.now
		default:
			x.soil(e)
		}
	}
}

// wrote notes what the disk says now: after a failure it may be either.
func (x *Index) wrote(rows map[string]row, err error) {
	for name, r := range rows {
		e := x.entry(name)
		if err == nil {
			e.saved, e.writing = r, nil
		}
		x.soil(e)
		x.forget(e)
	}
}

// forget drops an actor of which there is nothing to say.
func (x *Index) forget(e *entry) {
	if e.now == (row{}) && e.saved == (row{}) && !e.open && e.writing == nil && e.expected == nil {
		delete(x.entries, e.actor)
	}
}

func (x *Index) write(rows map[string]row) error {
	if len(rows) == 0 {
		return nil
	}
	x.written.Add(1)
	return x.transaction(func(do doFunc) error {
		for name, r := range rows {
			var err error
			if r == (row{}) {
				_, err = do(`DELETE FROM alarm WHERE actor = ?`, name)
			} else {
				_, err = do(`INSERT INTO alarm (actor, due, in_flight) VALUES (?, nullif(?, 0), ?)
					ON CONFLICT (actor) DO UPDATE SET due = excluded.due, in_flight = excluded.in_flight`, name, r.due, flag(r.inFlight))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// doFunc runs one statement of a transaction.
type doFunc = func(sql string, args ...store.Value) ([]store.Row, error)

func (x *Index) transaction(f func(do doFunc) error) error {
	x.dbMu.Lock()
	defer x.dbMu.Unlock()
	if err := x.db.Begin(); err != nil {
		return err
	}
	err := f(func(sql string, args ...store.Value) ([]store.Row, error) { return x.db.Do(sql, args) })
	if err == nil {
		err = x.db.Commit()
	}
	if err != nil {
		_ = x.db.Rollback() // the first error counts
	}
	return err
}

// Close records what is not recorded yet and closes the database.
func (x *Index) Close() error { return x.end(true) }

// Abandon closes the database as a crash would: changes that waited are lost.
func (x *Index) Abandon() error { return x.end(false) }

func (x *Index) end(save bool) error {
	x.mu.Lock()
	if x.closed {
		x.mu.Unlock()
		return nil
	}
	x.closed = true
	x.arm()
	close(x.stop)
	x.mu.Unlock()
	<-x.done
	if save {
		x.mu.Lock()
		x.dirty = true
		x.mu.Unlock()
		x.save(nil)
	}
	return x.db.Close()
}
