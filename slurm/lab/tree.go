package lab

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// programs maps the bare name of each Slurm program to its path.
type programs map[string]string

// suite is the Slurm installation that a lab runs.
type suite struct {
	programs  programs
	plugins   string // PluginDir; "" = built in
	libraries string // LD_LIBRARY_PATH of the daemons; "" = none
}

// clients are the Slurm programs a lab offers, if installed, in addition to the needed.
var clients = []string{"squeue", "scancel", "salloc", "sacct", "sdiag", "sprio", "sshare", "sattach", "sbcast", "strigger", "sacctmgr", "slurmdbd"}

// daemons are the needed programs that may execute themselves or each other again.
var daemons = []string{"munged", "slurmdbd", "slurmctld", "slurmd", "slurmstepd"}

// install finds the programs of this machine. Programs of a tree at root are made to run
// here, in the directory bin, with the tree's own loader and C library: that needs no
// chroot, no mounts and no privileges, and the jobs they start are ordinary processes of
// this machine with this machine's files.
func install(root, bin string) (suite, error) {
	s := suite{programs: programs{}}
	for _, n := range needed {
		path, err := find(root, n.name)
		if err != nil {
			return suite{}, err
		}
		s.programs[n.name] = path
	}
	for _, name := range clients {
		if path, err := find(root, name); err == nil {
			s.programs[name] = path
		}
	}
	if root == "" {
		return s, nil
	}
	l, err := findLoader(root)
	if err != nil {
		return suite{}, err
	}
	for name, path := range s.programs {
		here := filepath.Join(bin, name)
		if err := l.adapt(path, here, slices.Contains(daemons, name)); err != nil {
			return suite{}, fmt.Errorf("%s: %w", path, err)
		}
		s.programs[name] = here
	}
	s.plugins, s.libraries = l.plugins, strings.Join(l.libraries, ":")
	return s, nil
}

// loader is a tree's own dynamic loader and libraries.
type loader struct {
	path      string   // ld-linux
	libraries []string // directories, the plugins' first: libslurmfull is there
	plugins   string   // Slurm's PluginDir
}

func findLoader(root string) (loader, error) {
	one := func(what string, patterns ...string) (string, error) {
		for _, p := range patterns {
			if found, _ := filepath.Glob(filepath.Join(root, p)); len(found) > 0 {
				return inTree(root, strings.TrimPrefix(found[0], root)), nil
			}
		}
		return "", fmt.Errorf("%w: no %s below %s", ErrMissing, what, root)
	}
	ld, err := one("dynamic loader", "lib64/ld-linux-*.so.*", "lib/ld-linux-*.so.*", "usr/lib/*/ld-linux-*.so.*")
	if err != nil {
		return loader{}, err
	}
	plugins, err := one("directory of Slurm plugins", "usr/lib/*/slurm-wlm", "usr/lib/*/slurm")
	if err != nil {
		return loader{}, err
	}
	triplet := filepath.Base(filepath.Dir(plugins))
	return loader{path: ld, plugins: plugins, libraries: []string{
		plugins, filepath.Join(root, "usr/lib", triplet), filepath.Join(root, "lib", triplet)}}, nil
}

// adapt makes a program of the tree runnable here. A client gets a script that calls the
// loader, so that nothing is added to the environment that it passes to jobs. A daemon
// executes itself again through /proc/self/exe, which must then not be the loader: it
// gets a copy that names the tree's loader, and finds the libraries through its
// environment.
func (l loader) adapt(program, here string, daemon bool) error {
	text := []byte(fmt.Sprintf("#!/bin/sh\nexec '%s' --library-path '%s' '%s' \"$@\"\n", l.path, strings.Join(l.libraries, ":"), program))
	if daemon {
		image, err := os.ReadFile(program)
		if err != nil {
			return err
		}
		if text, err = withInterpreter(image, l.path); err != nil {
			return err
		}
	}
	return writeFile(here, text, 0o755, os.Geteuid(), os.Getegid())
}

// withInterpreter returns a copy of a 64-bit ELF program that names another dynamic
// loader. The name is appended to the file, and the program header with its position in
// the file, PT_INTERP, is changed; the kernel reads it from there, whatever is mapped.
func withInterpreter(image []byte, path string) ([]byte, error) {
	f, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return nil, err
	}
	if f.Class != elf.ELFCLASS64 {
		return nil, fmt.Errorf("not a 64-bit program")
	}
	// Fixed offsets in the header of the format: e_phoff, e_phentsize.
	table := f.ByteOrder.Uint64(image[32:])
	size := uint64(f.ByteOrder.Uint16(image[54:]))
	for i, p := range f.Progs {
		if p.Type != elf.PT_INTERP {
			continue
		}
		patched := append(slices.Clone(image), path+"\x00"...)
		header := patched[table+uint64(i)*size:]
		putOffset(f.ByteOrder, header, uint64(len(image)), uint64(len(path)+1))
		return patched, nil
	}
	return nil, fmt.Errorf("a static program: it names no loader")
}

// putOffset writes p_offset and p_filesz of a 64-bit program header.
func putOffset(order binary.ByteOrder, header []byte, offset, length uint64) {
	order.PutUint64(header[8:], offset)
	order.PutUint64(header[32:], length)
}
