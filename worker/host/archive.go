package host

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"holdfast/actor/errs"
)

// A backup is a tar: the actors' databases, the alarm index, and at its end the manifest, without which it is none.

const (
	archiveFormat = 1
	manifestFile  = "manifest.json"
	maxManifest   = 64 << 20 // bytes; ten thousand workspaces take about 2 MiB
)

// Manifest says what a backup holds.
type Manifest struct {
	Format    int           `json:"format"`
	Created   int64         `json:"created"` // unix ms
	Encrypted bool          `json:"encrypted"`
	Files     []ArchiveFile `json:"files"`
	Damaged   []string      `json:"damaged"` // actors that are not in it, because their databases are damaged
}

// ArchiveFile is one database in a backup.
type ArchiveFile struct {
	Name   string `json:"name"` // "actors/…" or "alarms.db"
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
	Schema int64  `json:"schema"` // 0 for the alarm index, and for a database in which nothing ever happened
}

// archiveWriter makes a backup.
type archiveWriter struct {
	tar      *tar.Writer
	manifest Manifest
}

// add puts a file in.
func (a *archiveWriter) add(name, from string, schema int64) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := a.header(name, info.Size()); err != nil {
		return err
	}
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(a.tar, sum), f); err != nil {
		return err
	}
	a.manifest.Files = append(a.manifest.Files, ArchiveFile{Name: name, Bytes: info.Size(), SHA256: hex.EncodeToString(sum.Sum(nil)), Schema: schema})
	return nil
}

func (a *archiveWriter) header(name string, size int64) error {
	return a.tar.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: size, ModTime: time.UnixMilli(a.manifest.Created), Format: tar.FormatPAX})
}

// close ends the backup with its manifest.
func (a *archiveWriter) close() error {
	raw, err := json.MarshalIndent(a.manifest, "", "  ")
	if err != nil {
		return err
	}
	if err := a.header(manifestFile, int64(len(raw))); err != nil {
		return err
	}
	if _, err := a.tar.Write(raw); err != nil {
		return err
	}
	return a.tar.Close()
}

// ReadBackup reads a backup to its end and checks that it is whole. Each database is handed to file, which may be
// nil; what is wrong with the archive as a whole shows only at the end.
func ReadBackup(r io.Reader, file func(name string, r io.Reader) error) (*Manifest, error) {
	in, found := tar.NewReader(r), map[string]string{}
	for {
		h, err := in.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil, notWhole(errors.New("it has no manifest"))
		case err != nil:
			return nil, notWhole(err)
		case h.Name == manifestFile:
			return readManifest(in, found)
		case h.Typeflag != tar.TypeReg || !isArchived(h.Name) || found[h.Name] != "":
			return nil, notWhole(fmt.Errorf("it holds %.200q, which no backup does", h.Name))
		}
		sum := sha256.New()
		body := io.TeeReader(in, sum)
		if file != nil {
			if err := file(h.Name, body); err != nil {
				return nil, err
			}
		}
		if _, err := io.Copy(io.Discard, body); err != nil {
			return nil, notWhole(err)
		}
		found[h.Name] = hex.EncodeToString(sum.Sum(nil))
	}
}

func notWhole(err error) error {
	return errs.Wrap(errs.Invalid, err, "This is no whole backup of Holdfast.")
}

// readManifest reads the manifest and compares it with the files that came before it, by name, of which it leaves none:
// whoever reads a manifest afterwards opens what it names.
func readManifest(r io.Reader, found map[string]string) (*Manifest, error) {
	raw, err := io.ReadAll(io.LimitReader(r, maxManifest+1))
	if err != nil {
		return nil, notWhole(err)
	}
	m := &Manifest{}
	if err := json.Unmarshal(raw, m); err != nil || len(raw) > maxManifest {
		return nil, notWhole(errors.New("its manifest cannot be read"))
	}
	if m.Format != archiveFormat {
		return nil, errs.New(errs.Invalid, "The backup has format %d, this program knows %d.", m.Format, archiveFormat).WithHint("Run a newer holdfast.")
	}
	for _, f := range m.Files {
		sum, there := found[f.Name]
		if !there || !isArchived(f.Name) || sum != f.SHA256 {
			return nil, notWhole(fmt.Errorf("%.200q is not what the manifest says", f.Name))
		}
		delete(found, f.Name) // each is named once
	}
	for name := range found {
		return nil, notWhole(fmt.Errorf("the manifest does not name %s", name))
	}
	return m, nil
}

// isArchived says whether a backup may hold a file of that name: nothing else is ever written anywhere.
func isArchived(name string) bool {
	file, inside := strings.CutPrefix(name, actorsDir+"/")
	return name == alarmsFile || inside && path.Clean(name) == name && actorOf(file) != ""
}

// isEmpty says whether there is nothing at a path, or a folder with no more than a lock, which stays when its holder goes.
func isEmpty(dir string) (bool, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() != lockFile }), err
}
