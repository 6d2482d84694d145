package vault

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Set is a data set.
type Set struct {
	Name, Owner, Path string
	Readers           []string // users, and groups as @GROUP
	Release           Release
	Nodes             string   // a feature of Slurm that the nodes of its jobs have; "" = any
	Kinds             []string // patterns of names of files that leave without a review
}

// UsualKinds are the kinds of a data set whose owner named none: weights of models, and JSON.
var UsualKinds = []string{"*.pt", "*.pth", "*.safetensors", "*.json"}

// Bounds of a data set's fields.
const (
	maxName    = 64
	maxReaders = 1000
	maxKinds   = 100
)

// Check returns what is wrong with a new data set; nil if nothing is.
func (s Set) Check() error {
	switch {
	case !plain(s.Name, "._-") || strings.ToLower(s.Name) != s.Name || s.Name[0] == '_':
		return fmt.Errorf("the name %s of the data set: use at most %d lower-case letters, digits, '.', '_' and '-', and begin with a letter or a digit", shown(s.Name), maxName)
	case !path.IsAbs(s.Path) || path.Clean(s.Path) != s.Path || s.Path == "/" || len(s.Path) > 4096 || !printable(s.Path):
		return fmt.Errorf("the folder %s of the data set: give an absolute path without '.' and '..'", shown(s.Path))
	case s.Nodes != "" && !plain(s.Nodes, "._-"):
		return fmt.Errorf("the nodes %s: give one feature of nodes, as sinfo -o %%f prints it", shown(s.Nodes))
	case len(s.Kinds) > maxKinds:
		return fmt.Errorf("%d kinds of files, at most %d are taken", len(s.Kinds), maxKinds)
	}
	for _, kind := range s.Kinds {
		if _, err := path.Match(kind, "x"); err != nil || kind == "" || len(kind) > maxName || strings.Contains(kind, "/") || !printable(kind) {
			return fmt.Errorf("the kind %s of files: give a pattern such as *.pt", shown(kind))
		}
	}
	return CheckReaders(s.Readers)
}

// CheckReaders returns what is wrong with a list of readers.
func CheckReaders(readers []string) error {
	if len(readers) > maxReaders {
		return fmt.Errorf("%d readers, at most %d are taken; name a group, as @GROUP", len(readers), maxReaders)
	}
	for _, r := range readers {
		if !plain(strings.TrimPrefix(r, "@"), "._-$+") {
			return fmt.Errorf("the reader %s: give a user, or a group as @GROUP", shown(r))
		}
	}
	return nil
}

// plain reports whether a name has letters, digits and some other characters only.
func plain(name, others string) bool {
	if name == "" || len(name) > maxName {
		return false
	}
	for i, r := range name {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !letter && (i == 0 && r != '_' || !strings.ContainsRune(others, r)) {
			return false
		}
	}
	return true
}

// MayRead reports whether a user, a member of these groups, may use the data set. Its owner may.
func (s Set) MayRead(user string, groups []string) bool {
	if user == "" {
		return false
	}
	return user == s.Owner || slices.Contains(s.Readers, user) ||
		slices.ContainsFunc(groups, func(g string) bool { return g != "" && slices.Contains(s.Readers, "@"+g) })
}

// Releases reports whether a file of that name leaves without a review.
func (s Set) Releases(file string) bool {
	kinds := s.Kinds
	if len(kinds) == 0 {
		kinds = UsualKinds
	}
	name := path.Base(file)
	return slices.ContainsFunc(kinds, func(kind string) bool {
		ok, err := path.Match(kind, name)
		return ok && err == nil
	})
}

// Overlaps reports whether one of two folders is, or lies in, the other.
func Overlaps(a, b string) bool {
	return a == b || strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/")
}
