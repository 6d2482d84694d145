// Command packages builds Debian and RPM packages by nfpm from packages.yaml and what
// etc/make-packages staged. It is a module of its own, so that sluice does not depend on what
// nfpm depends on.
//
// usage: packages -stage DIR -to DIR -version V -release R -arch GOARCH -at SECONDS [-formats deb,rpm] FILE
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

func main() {
	stage := flag.String("stage", "", "folder of the files to pack; ${STAGE} in FILE")
	to := flag.String("to", "dist", "folder for the packages")
	version := flag.String("version", "", "${VERSION} in FILE")
	release := flag.String("release", "", "${RELEASE} in FILE, the version of the library")
	arch := flag.String("arch", "", "${ARCH} in FILE, by the name Go uses")
	at := flag.Int64("at", 0, "time of every file, in seconds since 1970")
	level := flag.Int("level", 9, "how well gzip compresses, 1 (fast) to 9")
	formats := flag.String("formats", "deb,rpm", "which packages to build")
	flag.Parse()
	raw, err := os.ReadFile(flag.Arg(0))
	if err != nil {
		fail(err)
	}
	text := strings.NewReplacer("${STAGE}", *stage, "${VERSION}", *version, "${RELEASE}", *release, "${ARCH}", *arch).Replace(string(raw))
	for i, document := range strings.Split(text, "\n---\n") {
		for _, format := range strings.Split(*formats, ",") {
			name, err := build(document, format, *to, fmt.Sprintf("gzip:%d", *level), time.Unix(*at, 0).UTC())
			if err != nil {
				fail(fmt.Errorf("%s, document %d, %s: %w", flag.Arg(0), i+1, format, err))
			}
			fmt.Println(name)
		}
	}
}

// build builds the package of one document and returns its file.
func build(document, format, to, compression string, at time.Time) (_ string, err error) {
	config, err := nfpm.Parse(strings.NewReader(document))
	if err != nil {
		return "", err
	}
	info, err := config.Get(format)
	if err != nil {
		return "", err
	}
	info = nfpm.WithDefaults(info)
	info.MTime = at
	info.Deb.Compression, info.RPM.Compression = compression, compression // every dpkg and rpm reads gzip
	// An RPM without it names the machine that it was built on.
	info.RPM.BuildHost = "localhost"
	packager, err := nfpm.Get(format)
	if err != nil {
		return "", err
	}
	info.Target = filepath.Join(to, packager.ConventionalFileName(info))
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return "", err
	}
	for _, c := range info.Contents { // packages of the same sources are the same
		if c.FileInfo != nil {
			c.FileInfo.MTime = at
		}
	}
	f, err := os.Create(info.Target)
	if err != nil {
		return "", err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			os.Remove(info.Target)
		}
	}()
	return info.Target, packager.Package(info, f)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "packages:", err)
	os.Exit(1)
}
