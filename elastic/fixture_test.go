package elastic_test

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/say"
	"github.com/sluice-hpc/sluice/nodes"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// on is a place on one node.
func on(node string, gpus int) nodes.Placement { return nodes.Placement{{Node: node, GPUs: gpus}} }

// sentence returns a reason in English.
func sentence(r reason.Reason) string { return say.Reason(r, time.Time{}) }

// placed reads "n1:2 n2:1".
func placed(t *testing.T, text string) nodes.Placement {
	t.Helper()
	var p nodes.Placement
	for word := range strings.FieldsSeq(text) {
		share := nodes.Share{}
		if _, err := fmt.Sscanf(strings.Replace(word, ":", " ", 1), "%s %d", &share.Node, &share.GPUs); err != nil {
			t.Fatal(err)
		}
		p = append(p, share)
	}
	return p
}
