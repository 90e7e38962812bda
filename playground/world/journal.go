package world

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// entry is one record as it became. A null value deletes it.
type entry struct {
	Key   string          `json:"k"` // "<kind>/<id>"
	Value json.RawMessage `json:"v"`
}

// journal is an append-only file with one commit per line. A line is written by one write call, which survives the
// death of the process; a torn last line belongs to a commit that nobody was told of, and is dropped.
// It does not survive a loss of power, and need not: it plays the remote side of a test.
type journal struct{ file *os.File }

// openJournal replays the file in dir, hands each entry to load, and leaves a compacted file behind.
func openJournal(dir string, load func(entry) error) (*journal, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	path := filepath.Join(dir, "discord.jsonl")
	live, order, err := replay(path)
	if err != nil {
		return nil, err
	}
	for _, k := range order {
		if v, ok := live[k]; ok {
			if err := load(entry{Key: k, Value: v}); err != nil {
				return nil, err
			}
		}
	}
	return compact(path, live, order)
}

// replay reads the newest value of each key, and the order in which the keys first came.
func replay(path string) (map[string]json.RawMessage, []string, error) {
	live := map[string]json.RawMessage{}
	var order []string
	raw, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return live, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read journal: %w", err)
	}
	seen := map[string]bool{}
	in := bufio.NewReader(bytes.NewReader(raw))
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return live, order, nil
		}
		var batch []entry
		if err := json.Unmarshal(line, &batch); err != nil {
			return nil, nil, fmt.Errorf("read journal: %w", err)
		}
		for _, e := range batch {
			if !seen[e.Key] {
				seen[e.Key] = true
				order = append(order, e.Key)
			}
			if live[e.Key] = e.Value; isNull(e.Value) {
				delete(live, e.Key)
			}
		}
	}
}

// compact writes one line per live record to a new file, puts it in place and opens it.
func compact(path string, live map[string]json.RawMessage, order []string) (*journal, error) {
	var out bytes.Buffer
	for _, k := range order {
		if v, ok := live[k]; ok {
			line, err := json.Marshal([]entry{{k, v}})
			if err != nil {
				return nil, fmt.Errorf("compact journal: %w", err)
			}
			out.Write(append(line, '\n'))
		}
	}
	if err := os.WriteFile(path+".new", out.Bytes(), 0o600); err != nil {
		return nil, fmt.Errorf("compact journal: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return nil, fmt.Errorf("compact journal: %w", err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	return &journal{f}, nil
}

// append writes one commit.
func (j *journal) append(batch []entry) error {
	line, err := json.Marshal(batch)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	if _, err := j.file.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

func isNull(v json.RawMessage) bool { return len(v) == 0 || string(v) == "null" }
