package confine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Version is the version of fence.json. A reader refuses any other.
const Version = 1

// FenceFile is the name of the file that describes a job's fence.
const FenceFile = "fence.json"

// Fence says what the programs of one confined job see, and how much of what they report
// leaves. Every path is absolute and clean; the folders exist before the job starts.
type Fence struct {
	Version int `json:"version"`
	// Inner is the program's job folder: progress, requests and checkpoints. Its parent is
	// the job's folder in the vault, mode 0700.
	Inner string `json:"inner"`
	// Code is the user's code, read-only inside, and the working directory of the script.
	Code string `json:"code"`
	// Output is the folder for files that are to leave: $SLUICE_OUTPUT.
	Output string `json:"output"`
	// Data are the data sets by their names; read-only inside, at /data/NAME.
	Data map[string]string `json:"data"`
	// System and Software are read-only inside, at the same path. A missing one is left out.
	System   []string `json:"system"`
	Software []string `json:"software,omitempty"`
	// Numbers bounds the lines of progress that leave, in bytes over the job's life.
	Numbers int64 `json:"numbers"`
	// Environment names the variables that are passed on. A name that ends with * stands
	// for all that begin so.
	Environment []string `json:"environment"`
	// Log bounds the job's log, in bytes over the job's life.
	Log int64 `json:"log"`
	// Network is what the programs reach: "" = nothing, and the job has one node; Relayed or OfSite.
	Network string `json:"network,omitempty"`
	// File is where it was read from.
	File string `json:"-"`
}

// What the programs of a job reach that may have several nodes.
const (
	// Relayed: each other, through a network of their own, which sluice's relays carry.
	Relayed = "relay"
	// OfSite: all that their nodes reach. What they send there is not counted.
	OfSite = "site"
)

// Errors of reading a fence. Test with errors.Is.
var (
	// ErrMalformed: the file is not a description of a fence.
	ErrMalformed = errors.New("malformed")
	// ErrVersion: the file is for another version of sluice.
	ErrVersion = errors.New("written for another version of sluice")
	// ErrUnsafe: the fence would show or allow what no fence may.
	ErrUnsafe = errors.New("unsafe")
)

// FormatError says where a fence cannot be used. Line and Column start at 1; 0 means that
// a field is wrong, which Words name.
type FormatError struct {
	File         string
	Line, Column int
	Err          error // ErrMalformed, ErrVersion or ErrUnsafe
	Words        string
}

// Error returns the file and the place, then the reason.
func (e *FormatError) Error() string {
	at := e.File
	if e.Line > 0 {
		at += fmt.Sprintf(":%d:%d", e.Line, e.Column)
	}
	return fmt.Sprintf("%s: %v: %s", at, e.Err, e.Words)
}

// Unwrap returns the kind.
func (e *FormatError) Unwrap() error { return e.Err }

// Limits of a fence.
const (
	maxFence = 1 << 20 // bytes of fence.json
	maxSets  = 64
	maxPaths = 1000
	maxPath  = 4095 // bytes
	maxBytes = 1 << 50
)

// Read reads fence.json by a trusted path. Errors are the file system's or *FormatError.
func Read(name string) (Fence, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return Fence{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &FormatError{File: name, Err: ErrMalformed, Words: "not a regular file"}
	}
	if err != nil {
		return Fence{}, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFence+1))
	if err != nil {
		return Fence{}, err
	}
	fence, err := Parse(name, data)
	fence.File = name
	return fence, err
}

// Parse reads a fence. It is strict: a field that it does not know may be a restriction
// that it would not apply. file is for the errors, which are *FormatError.
func Parse(file string, data []byte) (Fence, error) {
	if len(data) > maxFence {
		return Fence{}, &FormatError{File: file, Err: ErrMalformed, Words: fmt.Sprintf("more than %d bytes", maxFence)}
	}
	var v struct{ Version int }
	if json.Unmarshal(data, &v) == nil && v.Version != Version {
		return Fence{}, &FormatError{File: file, Err: ErrVersion, Words: fmt.Sprintf("version %d, want %d: install the same sluice on all nodes", v.Version, Version)}
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var f Fence
	if err := dec.Decode(&f); err != nil {
		return Fence{}, located(file, data, dec.InputOffset(), err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Fence{}, located(file, data, dec.InputOffset(), errors.New("something follows the JSON object"))
	}
	if err := f.Valid(); err != nil {
		err.File = file
		return Fence{}, err
	}
	return f, nil
}

// located turns an error of the JSON decoder into a *FormatError.
func located(file string, data []byte, offset int64, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &kind):
		offset = kind.Offset
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		offset, err = int64(len(data)), errors.New("ends in the middle")
	}
	before := data[:min(max(offset, 0), int64(len(data)))]
	return &FormatError{File: file, Err: ErrMalformed, Words: err.Error(),
		Line: 1 + bytes.Count(before, []byte("\n")), Column: max(1, len(before)-1-bytes.LastIndexByte(before, '\n'))}
}

// Valid returns nil, or the first reason why the fence cannot be used.
func (f Fence) Valid() *FormatError {
	c := check{}
	c.that(f.Version == Version, ErrVersion, "version %d, want %d", f.Version, Version)
	for _, p := range []struct{ field, path string }{{"inner", f.Inner}, {"code", f.Code}, {"output", f.Output}} {
		c.path(p.field, p.path)
	}
	c.that(len(f.Data) <= maxSets, ErrMalformed, "data: %d sets, at most %d", len(f.Data), maxSets)
	c.that(len(f.System)+len(f.Software) <= maxPaths, ErrMalformed, "system and software: %d paths, at most %d", len(f.System)+len(f.Software), maxPaths)
	for name, p := range f.Data {
		c.that(ValidName(name), ErrMalformed, "data: %q is no name of a data set: want 1 to 64 lower-case letters, digits and ._-, the first a letter or digit", name)
		c.path("data: "+name, p)
	}
	for _, p := range slices.Concat(f.System, f.Software) {
		c.path("system or software", p)
		c.that(!hidden(p), ErrUnsafe, "system or software: %s may not be shown in a fence: leave it out of the site's list", p)
	}
	for _, e := range f.Environment {
		c.that(validVariable(e), ErrMalformed, "environment: %q is no name of a variable", e)
	}
	c.that(f.Numbers >= 0 && f.Numbers <= maxBytes, ErrMalformed, "numbers: %d, want bytes from 0 to %d", f.Numbers, int64(maxBytes))
	c.that(f.Log >= 0 && f.Log <= maxBytes, ErrMalformed, "log: %d, want bytes from 0 to %d", f.Log, int64(maxBytes))
	c.that(f.Network == "" || f.Network == Relayed || f.Network == OfSite, ErrMalformed, "network: %q, want %q, %q or nothing", f.Network, Relayed, OfSite)
	c.apart(f)
	return c.err
}

// check keeps the first error.
type check struct{ err *FormatError }

func (c *check) that(ok bool, kind error, format string, args ...any) {
	if !ok && c.err == nil {
		c.err = &FormatError{File: FenceFile, Err: kind, Words: fmt.Sprintf(format, args...)}
	}
}

func (c *check) path(field, p string) {
	c.that(validPath(p), ErrMalformed, "%s: %q: want an absolute path without .. and control characters, and not / itself", field, p)
}

// apart demands that nothing that the program may write is also shown elsewhere, and that
// no read-only folder shows the vault.
func (c *check) apart(f Fence) {
	own := []string{f.Inner, f.Code, f.Output}
	for i, a := range own {
		for _, b := range own[i+1:] {
			c.that(!overlap(a, b), ErrUnsafe, "inner, code and output: %s and %s overlap", a, b)
		}
	}
	vault := path.Dir(f.Inner)
	for _, p := range slices.Concat(f.System, f.Software) {
		c.that(!overlap(p, vault), ErrUnsafe, "system or software: %s and the job's folder %s overlap", p, vault)
		for name, set := range f.Data {
			c.that(!within(p, set), ErrUnsafe, "system or software: %s contains the data set %s", p, name)
		}
	}
	for name, set := range f.Data {
		c.that(!overlap(set, vault), ErrUnsafe, "data: %s and the job's folder %s overlap", name, vault)
	}
}

// ValidName reports whether name can name a data set: 1 to 64 lower-case letters, digits
// and ._-, the first a letter or a digit.
func ValidName(name string) bool {
	return len(name) >= 1 && len(name) <= 64 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789._-") == "" && !strings.ContainsAny(name[:1], "._-")
}

// validVariable reports whether a name is one of a variable, perhaps with a * at its end.
func validVariable(name string) bool {
	name = strings.TrimSuffix(name, "*")
	return name != "" && len(name) <= 255 && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

func validPath(p string) bool {
	return len(p) > 1 && len(p) <= maxPath && path.IsAbs(p) && path.Clean(p) == p &&
		!strings.ContainsFunc(p, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\uFFFD' })
}

// hidden reports whether a path may never be shown: it would give a way to the daemons of
// the node, to other users, or to the credentials of Slurm.
func hidden(p string) bool {
	for _, whole := range []string{"/etc", "/var", "/home", "/root", "/tmp", "/var/tmp", "/mnt", "/media", "/srv"} {
		if within(p, whole) {
			return true
		}
	}
	for _, below := range []string{"/proc", "/sys", "/dev", "/run", "/var/run", "/var/spool", "/var/mail", "/etc/munge", "/etc/slurm", "/etc/slurm-llnl", "/etc/ssh", "/etc/shadow", "/root"} {
		if overlap(p, below) {
			return true
		}
	}
	return false
}

// within reports whether below is folder or lies in it.
func within(folder, below string) bool {
	rel, err := filepath.Rel(folder, below)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}

// overlap reports whether one of two paths lies in the other.
func overlap(a, b string) bool { return within(a, b) || within(b, a) }
