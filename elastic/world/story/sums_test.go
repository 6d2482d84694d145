package story_test

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/elastic/world/story"
)

var sums = flag.String("sums", "", "write to this file a sum over all that was said in the story of each of -seeds seeds, from -from")

// TestSums writes one line per seed: the seed and a checksum of its log and outcome. Two commits with
// the same file make the same decisions; a change that only makes sluice faster MUST NOT alter it.
func TestSums(t *testing.T) {
	if *sums == "" {
		t.Skip("give -sums, -seeds and -from")
	}
	out, err := os.Create(*sums)
	if err != nil {
		t.Fatal(err)
	}
	shelves := onDisk(t)
	for seed := *from; seed < *from+*seeds; seed++ {
		var log strings.Builder
		o := story.Play(t.Context(), story.Draw(seed), shelves, &log)
		slices.Sort(o.Broken)
		fmt.Fprintf(&log, "{%v %v %v %v %v %v}", o.Broken, o.Simulated, o.Effects, o.Runs, o.Moves, o.Happened)
		sum := sha256.Sum256([]byte(folders.ReplaceAllString(log.String(), "")))
		fmt.Fprintf(out, "%d %x\n", seed, sum[:8])
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}
