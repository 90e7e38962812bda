package alarm

var schema = []string{
	`CREATE TABLE IF NOT EXISTS alarm (actor TEXT PRIMARY KEY, due INTEGER, in_flight INTEGER NOT NULL) STRICT, WITHOUT ROWID`,
	`CREATE TABLE IF NOT EXISTS config (version INTEGER PRIMARY KEY, hash TEXT NOT NULL) STRICT`,
}

func (x *Index) load(known []string) error {
	return x.transaction(func(do doFunc) error {
		if err := x.create(do, known); err != nil {
			return err
		}
		rows, err := do(`SELECT actor, due, in_flight FROM alarm ORDER BY actor`)
		for _, r := range rows {
			saved := row{r.Int(1), r.Int(2) != 0}
			e := &entry{actor: r.Str(0), saved: saved, now: saved, heapPos: -1}
			x.entries[e.actor] = e
			x.place(e)
		}
		return err
	})
}

// create makes what is missing. The actors are recorded in the transaction that makes the table: no crash leaves an
// index that knows nobody and passes for a whole one.
func (x *Index) create(do doFunc, known []string) error {
	rows, err := do(`SELECT count(*) FROM sqlite_schema WHERE name = 'alarm'`)
	if err != nil {
		return err
	}
	x.fresh = rows[0].Int(0) == 0
	for _, sql := range schema {
		if _, err := do(sql); err != nil {
			return err
		}
	}
	if !x.fresh {
		return nil
	}
	for _, actor := range known {
		if _, err := do(`INSERT INTO alarm (actor, due, in_flight) VALUES (?, 1, 0)`, actor); err != nil {
			return err
		}
	}
	return nil
}

// Version gives the number of a configuration: one more than the last one's, when that had another hash.
func (x *Index) Version(hash string) (version int64, err error) {
	err = x.transaction(func(do doFunc) error {
		rows, err := do(`SELECT version, hash FROM config ORDER BY version DESC LIMIT 1`)
		if err != nil {
			return err
		}
		if len(rows) > 0 {
			if version = rows[0].Int(0); rows[0].Str(1) == hash {
				return nil
			}
		}
		version++
		_, err = do(`INSERT INTO config (version, hash) VALUES (?, ?)`, version, hash)
		return err
	})
	return version, err
}
