package page_test

import (
	"flag"
	"html"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/cmd/sluice-web/page"
	"github.com/sluice-hpc/sluice/cmd/sluice-web/webtest"
)

var update = flag.Bool("update", false, "write testdata/outline.txt anew; read the diff before you commit it")

var (
	parts = regexp.MustCompile(`(?s)<(h1|h2|caption|th scope="col"|button|label|summary)[^>]*>(.*?)</|<(form|input|select|textarea|svg|section|nav)( [^>]*)?>`)
	inner = regexp.MustCompile(`<[^>]*>`)
	keep  = regexp.MustCompile(`\b(id|name|action|method|type|aria-label|role)="([^"]*)"`)
)

// outline is what a page consists of: headings, sections, forms with their fields, drawings and tables
// with their names, and no figures.
func outline(body string) string {
	var b strings.Builder
	_, main, _ := strings.Cut(body, "<main")
	main, _, _ = strings.Cut(main, "</main>")
	last := ""
	for _, m := range parts.FindAllStringSubmatch(main, -1) {
		line := ""
		if m[3] == "" {
			line = m[1][:min(len(m[1]), 2)] + " " + strings.Join(strings.Fields(html.UnescapeString(inner.ReplaceAllString(m[2], " "))), " ")
		} else {
			line = m[3]
			for _, a := range keep.FindAllStringSubmatch(m[4], -1) {
				line += " " + a[1] + "=" + html.UnescapeString(a[2])
			}
		}
		if strings.HasPrefix(line, "svg ") && strings.HasPrefix(last, "svg ") {
			continue // one of several
		}
		b.WriteString("  " + line + "\n")
		last = line
	}
	return b.String()
}

// What each page consists of is as it was seen and found good.
func TestOutlines(t *testing.T) {
	t.Setenv("TZ", "UTC")
	h := setup(&webtest.Daemon{Jobs: 12, Nodes: 3}, func(c *page.Config) { c.Live = page.NewHub(nil) })
	var b strings.Builder
	for _, path := range everyPage {
		b.WriteString(path + "\n" + outline(get(t, h, path).Body.String()) + "\n")
	}
	const file = "testdata/outline.txt"
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("the pages consist of other parts; go test -update writes\n%s", b.String())
	}
}

// The filter is that of sluice queue, and its page says how to ask for the same there.
func TestFilter(t *testing.T) {
	h := setup(&webtest.Daemon{Jobs: 12, Nodes: 3}, nil)
	for q, want := range map[string][]string{
		"--me":               {"6 jobs", "sluice queue --me"},
		"-u+bob+--states+PD": {"4 jobs", "sluice queue -u bob --states PD"},
		"--account+phys":     {"6 jobs"},
		"llama":              {"2 jobs", "<code>sluice queue</code>"},
		"-j+4001":            {"1 job"},
		"--all":              {"13 jobs"},
		"--frobnicate":       {"unknown flag", "12 jobs"},
		"%22x":               {"not closed"},
		"--states+SLEEPING":  {"invalid job state"},
	} {
		body := get(t, h, "/jobs?q="+q).Body.String()
		for _, w := range want {
			if !strings.Contains(body, w) {
				t.Errorf("%s: no %q in %s", q, w, body[strings.Index(body, `id="count"`)-300:][:700])
			}
		}
	}
}

// A page of many jobs leads to the next ones.
func TestPager(t *testing.T) {
	h := setup(&webtest.Daemon{Jobs: 600, Nodes: 3}, nil)
	for path, want := range map[string]string{"/jobs": "from=250", "/jobs?from=250": "from=500", "/jobs?from=500": "from=250", "/jobs?from=99999": "from=349", "/jobs?from=-5": "from=250"} {
		if body := get(t, h, path).Body.String(); !strings.Contains(body, want) {
			t.Errorf("%s: no %s", path, want)
		}
	}
}
