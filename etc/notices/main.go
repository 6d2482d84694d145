// Notices writes the notices of a package: Debian's machine-readable copyright file, with
// the complete licence of every module that is linked into its programs, and a list of
// those modules as SPDX 2.3.
//
//	notices -package NAME -version VERSION -licence FILE -to FOLDER [-at SECONDS] [PROGRAM...]
//
// The linked modules are read from the programs. A module without a licence file, with an
// unknown licence, or with other contents than those from which the program was built, is
// an error, and nothing is written.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

func main() {
	var p papers
	flag.StringVar(&p.Name, "package", "", "the package's name")
	flag.StringVar(&p.Version, "version", "", "the package's version")
	licence := flag.String("licence", "LICENSE", "the licence of what the package itself brings")
	to := flag.String("to", "", "the folder to write to")
	at := flag.Int64("at", 0, "the time of the package, in seconds since 1970")
	flag.Parse()
	p.At = time.Unix(*at, 0).UTC()
	if err := p.run(*licence, *to, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "notices:", err)
		os.Exit(1)
	}
}

// papers is the information about one package.
type papers struct {
	Name, Version string
	At            time.Time
	Own           string // the text of its own licence
	Programs      []program
	Modules       []module
}

func (p *papers) run(licence, to string, programs []string) error {
	if p.Name == "" || p.Version == "" || to == "" {
		return errors.New("-package, -version and -to are needed")
	}
	own, err := os.ReadFile(licence)
	if err != nil {
		return err
	}
	p.Own = string(own)
	if p.Programs, p.Modules, err = linked(programs); err != nil {
		return err
	}
	for i := range p.Modules {
		if err := p.Modules[i].read(); err != nil {
			return fmt.Errorf("%s: %w", p.Modules[i].name(), err)
		}
	}
	list, err := p.sbom()
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(to, "copyright"), p.copyright(), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(to, "sbom.spdx.json"), list, 0o644)
}
