package publish

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/elastic/engine/eligible"
	"github.com/sluice-hpc/sluice/elastic/share"
	"github.com/sluice-hpc/sluice/elastic/share/claim"
	"github.com/sluice-hpc/sluice/slurm"
)

// TestSharingOthers: users without jobs, and accounts that the tree lacks, are listed where they belong,
// each once; users that are not told apart are one line.
func TestSharingOthers(t *testing.T) {
	list := []slurm.Share{
		{Account: "root"}, {Account: "bio", Parent: "root", Shares: 40}, {Account: "bio", User: "ann", Parent: "bio", Inherits: true},
		{Account: "bio", User: "joe", Parent: "bio", Inherits: true}, {Account: "bio", User: "bob", Parent: "bio", Shares: 2, Fair: 0.25},
		{Account: "phys", Parent: "root", Shares: 60},
	}
	tree, err := eligible.TreeOf(list)
	if err != nil {
		t.Fatal(err)
	}
	r := &Report{Shares: Shares{Count: true, List: list, Tree: tree, Claims: claim.Claims{Capacity: 8, Unknown: []string{"old"}, Each: []claim.Claim{
		{Want: share.Want{Account: "bio", User: "dan", GPUs: 3}}, {Want: share.Want{Account: "old", User: "eve", GPUs: 1}}}}}}
	var others []Member
	for _, m := range []Member{{"bio", "ann"}, {"bio", "joe"}, {"bio", "bob"}, {"bio", "dan"}, {"", "eve"}, {"gone", "eve"}} {
		others = append(others, r.Member(m.Account, m.User))
	}
	var got []string
	for _, l := range r.Sharing(others...) {
		got = append(got, fmt.Sprintf("%d %s/%s %v %d", l.Depth, l.Account, l.User, l.Shares, l.Wanted))
	}
	const want = "0 root/ 1 3, 1 bio/ 40 3, 2 bio/* 0 0, 2 bio/bob 2 0, 2 bio/dan 1 3, 1 phys/ 60 0, 0 / 0 0, 1 /eve 1 0, 0 gone/ 0 0, 1 gone/eve 1 0, 0 old/ 0 1, 1 old/eve 1 1"
	if text := strings.Join(got, ", "); text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	if r.Shares.Tree = nil; r.Sharing(others...) != nil || r.Member("bio", "ann").User != "ann" {
		t.Error("without a tree")
	}
}
