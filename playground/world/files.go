package world

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// maxFile is Discord's default limit for one file, bytes.
const maxFile = 10 << 20

// attach stores new files and keeps the old ones that an edit lists.
func (w *World) attach(m *Message, d Draft) error {
	if d.Attachments == nil && len(d.Files) == 0 {
		return nil
	}
	told := map[string]DraftAttachment{}
	for _, a := range d.Attachments {
		told[a.ID] = a
	}
	var kept []Attachment
	for _, a := range m.Attachments {
		if _, ok := told[a.ID]; ok || d.Attachments == nil {
			kept = append(kept, a)
		}
	}
	for _, f := range d.Files {
		if len(f.Data) > maxFile {
			return ErrTooLarge
		}
		t := told[f.Index]
		if t.Name == "" {
			t.Name = f.Name
		}
		a, err := w.store(f, t.Name)
		if err != nil {
			return err
		}
		a.Description, a.Ephemeral = t.Description, m.For != ""
		kept = append(kept, a)
	}
	m.Attachments = kept
	return nil
}

// store keeps the bytes of a file under a new id.
func (w *World) store(f File, name string) (Attachment, error) {
	name = strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune(`/\`, r) {
			return '_'
		}
		return r
	}, name)
	a := Attachment{ID: w.mint(), Name: name, Type: f.Type, Size: len(f.Data)}
	if a.Name == "" {
		a.Name = "file"
	}
	if a.Type == "" {
		a.Type = "application/octet-stream"
	}
	if w.opt.Dir == "" {
		w.files[a.ID] = f.Data
		return a, nil
	}
	dir := filepath.Join(w.opt.Dir, "attachments")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return a, fmt.Errorf("attachment: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, a.ID), f.Data, 0o600); err != nil {
		return a, fmt.Errorf("attachment: %w", err)
	}
	return a, nil
}

// File returns the bytes of an attachment. The id must be one of digits.
func (w *World) File(id string) ([]byte, error) {
	if id == "" || strings.Trim(id, "0123456789") != "" {
		return nil, ErrNotFound
	}
	w.mu.Lock()
	data, ok := w.files[id]
	w.mu.Unlock()
	if ok {
		return data, nil
	}
	if w.opt.Dir == "" {
		return nil, ErrNotFound
	}
	data, err := os.ReadFile(filepath.Join(w.opt.Dir, "attachments", id))
	if err != nil {
		return nil, ErrNotFound
	}
	return data, nil
}
