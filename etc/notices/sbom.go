package main

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// The terms of SPDX 2.3 (https://spdx.github.io/spdx-spec/v2.3/) used here.
type (
	document struct {
		Version   string     `json:"spdxVersion"`
		Licence   string     `json:"dataLicense"`
		ID        string     `json:"SPDXID"`
		Name      string     `json:"name"`
		Namespace string     `json:"documentNamespace"`
		Creation  creation   `json:"creationInfo"`
		Packages  []spdx     `json:"packages"`
		Relations []relation `json:"relationships"`
	}
	creation struct {
		Created  string   `json:"created"`
		Creators []string `json:"creators"`
	}
	spdx struct {
		ID         string     `json:"SPDXID"`
		Name       string     `json:"name"`
		Version    string     `json:"versionInfo"`
		Location   string     `json:"downloadLocation"`
		Analyzed   bool       `json:"filesAnalyzed"`
		Checksums  []checksum `json:"checksums,omitempty"`
		SourceInfo string     `json:"sourceInfo,omitempty"`
		Concluded  string     `json:"licenseConcluded"`
		Declared   string     `json:"licenseDeclared"`
		Copyright  string     `json:"copyrightText"`
		References []external `json:"externalRefs,omitempty"`
	}
	checksum struct {
		Algorithm string `json:"algorithm"`
		Value     string `json:"checksumValue"`
	}
	external struct {
		Category string `json:"referenceCategory"`
		Type     string `json:"referenceType"`
		Locator  string `json:"referenceLocator"`
	}
	relation struct {
		From string `json:"spdxElementId"`
		Kind string `json:"relationshipType"`
		To   string `json:"relatedSpdxElement"`
	}
)

const own = "Apache-2.0"

// notID are the characters that an identifier may not contain.
var notID = regexp.MustCompile(`[^A-Za-z0-9.]+`)

func id(kind, name string) string {
	return "SPDXRef-" + kind + "-" + notID.ReplaceAllString(name, "-")
}

func purl(m module) external {
	if m.Path == standard {
		return external{"PACKAGE-MANAGER", "purl", "pkg:golang/std@" + m.Version}
	}
	return external{"PACKAGE-MANAGER", "purl", "pkg:golang/" + m.name()}
}

// sbom lists the package, its programs and the modules linked into each.
func (p *papers) sbom() ([]byte, error) {
	whole := id("Package", p.Name)
	doc := document{
		Version: "SPDX-2.3", Licence: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: p.Name + "-" + p.Version,
		Creation:  creation{p.At.Format(time.RFC3339), []string{"Tool: sluice-notices"}},
		Packages:  []spdx{plain(whole, p.Name, p.Version)},
		Relations: []relation{{"SPDXRef-DOCUMENT", "DESCRIBES", whole}},
	}
	for _, prog := range p.Programs {
		s := plain(id("Program", prog.Name), prog.Name, p.Version)
		s.Checksums = []checksum{{"SHA256", prog.SHA256}}
		doc.Packages = append(doc.Packages, s)
		doc.Relations = append(doc.Relations, relation{whole, "CONTAINS", s.ID})
		for _, m := range prog.Modules {
			doc.Relations = append(doc.Relations, relation{s.ID, "STATIC_LINK", id("Module", m)})
		}
	}
	for _, m := range p.Modules {
		s := plain(id("Module", m.name()), m.Path, m.Version)
		s.Concluded, s.Declared, s.Copyright = m.Licence, m.Licence, strings.Join(m.holders(), "\n")
		s.References = []external{purl(m)}
		if m.Sum != "" {
			sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:"))
			if err != nil || len(sum) != sha256.Size {
				return nil, fmt.Errorf("%s: %q is no sum of go.sum", m.name(), m.Sum)
			}
			// The sum of the sums of the module's files, as in other lists of Go modules.
			s.Checksums, s.SourceInfo = []checksum{{"SHA256", hex.EncodeToString(sum)}}, "go.sum "+m.Sum
		}
		doc.Packages = append(doc.Packages, s)
	}
	sum := sha256.New()
	if err := json.NewEncoder(sum).Encode(doc); err != nil {
		return nil, err
	}
	doc.Namespace = fmt.Sprintf("https://github.com/sluice-hpc/sluice/spdx/%s-%x", doc.Name, sum.Sum(nil)[:8])
	out, err := json.MarshalIndent(doc, "", " ")
	return append(out, '\n'), err
}

func plain(id, name, version string) spdx {
	return spdx{ID: id, Name: name, Version: version, Location: "NOASSERTION", Concluded: own, Declared: own, Copyright: "the sluice authors"}
}
