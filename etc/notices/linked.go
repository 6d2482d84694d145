package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
)

// program is one program of the package.
type program struct {
	Name, SHA256 string
	Modules      []string // by name, as in module.name
}

// module is a linked module, or Go's own library.
type module struct {
	Path, Version string
	Sum           string // as in go.sum; empty for Go's own library
	Dir           string
	Texts         []text
	Licence       string // an SPDX expression
}

func (m module) name() string { return m.Path + "@" + m.Version }

// standard is the name of Go's own library among the modules.
const standard = "std"

// linked reads which modules were linked into the programs.
func linked(paths []string) ([]program, []module, error) {
	var programs []program
	found := map[string]module{}
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			return nil, nil, err
		}
		info, err := buildinfo.Read(bytes.NewReader(raw))
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", path, err)
		}
		sum := sha256.Sum256(raw)
		p := program{Name: filepath.Base(path), SHA256: hex.EncodeToString(sum[:])}
		// The version may have a suffix about experiments.
		release, _, _ := strings.Cut(strings.TrimPrefix(info.GoVersion, "go"), " ")
		for _, m := range append(modulesOf(info), module{Path: standard, Version: release}) {
			found[m.name()] = m
			p.Modules = append(p.Modules, m.name())
		}
		slices.Sort(p.Modules)
		programs = append(programs, p)
	}
	var modules []module
	for _, m := range found {
		modules = append(modules, m)
	}
	slices.SortFunc(modules, func(a, b module) int { return strings.Compare(a.name(), b.name()) })
	return programs, modules, nil
}

func modulesOf(info *debug.BuildInfo) []module {
	var all []module
	for _, d := range info.Deps {
		if d.Replace != nil {
			d = d.Replace
		}
		all = append(all, module{Path: d.Path, Version: d.Version, Sum: d.Sum})
	}
	return all
}

// locate finds the module's source, exactly the one from which the program was built.
func (m *module) locate() error {
	if m.Path == standard {
		out, err := exec.Command("go", "env", "GOROOT", "GOVERSION").Output()
		if err != nil {
			return err
		}
		root, version, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
		if version, _, _ = strings.Cut(version, " "); version != "go"+m.Version {
			return fmt.Errorf("the programs were built with Go %s, and %s is installed; build them again", m.Version, version)
		}
		m.Dir = root
		return nil
	}
	out, err := exec.Command("go", "mod", "download", "-json", m.name()).Output()
	var found struct{ Dir, Sum, Error string }
	if jsonErr := json.Unmarshal(out, &found); jsonErr != nil {
		return fmt.Errorf("go mod download: %v: %s", err, out)
	}
	if found.Error != "" {
		return fmt.Errorf("go mod download: %s", found.Error)
	}
	if found.Sum != m.Sum {
		return fmt.Errorf("the program was built from %s, and what is here is %s", m.Sum, found.Sum)
	}
	m.Dir = found.Dir
	return nil
}
