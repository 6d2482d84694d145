package elastic

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestTagText(t *testing.T) {
	tag := Tag{
		Spec: Spec{Token: testToken, Min: 2, Max: 16, Sizes: []int{2, 4, 8}, AllowUneven: true, Total: 1.5e6, Unit: Steps,
			Model: "resnet50", Signal: "USR2", Grace: 90 * time.Second, CPUsPerGPU: 8, MemPerGPUMB: 4096,
			Habit: true, Again: true, Profile: []int{2, 8}, Script: "0123456789ab", Array: Array{Job: 101, Index: 3, Count: 16, Limit: 4}, Nodes: 2, Types: []string{"a100", "h100"}},
		Incarnation: 3, Directive: Directive{Pin: 4, Hold: true}, For: "ada", Deferred: true, Begin: time.Unix(1800000000, 0).UTC(),
		Notices: Notices{Begin: true, Requeue: true, Webhook: true, To: "ann+x@example.org"}, Comment: "mine; yours ; theirs",
	}
	want := "sluice/1 id=" + testToken + " inc=3 min=2 max=16 sizes=2,4,8 uneven=1 total=1.5e+06 unit=step model=resnet50" +
		" signal=USR2 grace=1m30s habit=1 again=1 profile=2,8 script=0123456789ab array=101_3/16%4 nodes=2 types=a100,h100 cpus=8 mem=4096 pin=4 hold=1 for=ada defer=1 begin=1800000000 mail=begin,requeue notify=webhook mailto=ann+x@example.org ; mine; yours ; theirs"
	if got := tag.String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	got, err := ParseTag(want)
	if err != nil || !reflect.DeepEqual(got, tag) {
		t.Errorf("got %+v, %v", got, err)
	}
	if !Tagged(want) || Tagged("sluice/10 x") || Tagged("") || Tagged(" sluice/1 ") || !Tagged("sluice/1") {
		t.Error("Tagged is wrong")
	}
}

func TestParseTagRefuses(t *testing.T) {
	const head = "sluice/1 id=" + testToken + " inc=0 min=1"
	if _, err := ParseTag(head); err != nil {
		t.Fatal(err)
	}
	for comment, want := range map[string]string{
		"":                               `not a sluice comment: want "sluice/1" at column 1`,
		"sluice/2 id=x":                  `not a sluice comment`,
		"sluice/1":                       `column 10: token "": want 32`,
		head + " min=2":                  `column 58: "min=2": want key=value, each key once`,
		head + " pin":                    `column 58: "pin": want key=value`,
		head + " future=1":               `column 58: unknown key "future"`,
		head + " pin=-1":                 `column 58: pin="-1": want a whole number from 0 to 1000000`,
		head + " pin=1000001":            `column 58: pin="1000001": want`,
		head + " inc=1":                  `column 58: "inc=1"`,
		head + " defer=0":                `column 58: defer="0": want 1`,
		head + " begin=tomorrow":         `column 58: begin="tomorrow": want a whole number`,
		head + " hold=0":                 `column 58: hold="0": want 1`,
		head + " sizes=":                 `column 58: sizes="": want a whole number`,
		head + " sizes=1,x":              `column 58: sizes="x": want a whole number`,
		head + " sizes=2,4":              `column 10: --gpu-sizes [2 4] does not contain`,
		head + " total=much":             `column 58: total="much": want a number`,
		head + " grace=soon":             `column 58: grace="soon": want a duration`,
		head + " total=inf":              `column 10: --epochs/--steps +Inf`,
		head + " model=a;b":              `column 10: --model "a;b"`,
		head + " script=0123456789aB":    `column 10: script "0123456789aB": want 12 lower-case hex digits`,
		head + " types=a100,":            `column 10: --gpu-types a100,: want at most 16 names`,
		head + " array=1_2":              `column 58: array="1_2": want JOB_INDEX/COUNT`,
		head + " mail=requeue,begin":     `column 58: mail="requeue,begin": want begin, requeue or begin,requeue`,
		head + " notify=":                `column 58: notify="": want mail, webhook or mail,webhook`,
		head + " mailto=-x":              `column 58: mailto="-x": want an address`,
		head + " for=-x":                 `column 58: for="-x": want the name of a user`,
		head + " for=":                   `column 58: for="": want the name of a user`,
		head + " signal=KILL":            `column 10: --checkpoint-signal "KILL"`,
		head + strings.Repeat(" ", 5000): `column 4097: sluice part of the comment longer than 4096 bytes`,
		head + " sizes=1" + strings.Repeat(",1", 1024): `column 58: sizes: more than 1024`,
	} {
		if _, err := ParseTag(comment); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.80q: got %v, want %s", comment, err, want)
		}
	}
}

// TestTagComesBack: the tag of every valid spec is parsed back unchanged.
func TestTagComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tag := Tag{
			Spec:        drawSpec(t),
			Incarnation: rapid.IntRange(0, maxMoves).Draw(t, "incarnation"),
			Directive:   Directive{Pin: rapid.IntRange(0, maxCount).Draw(t, "pin"), Hold: rapid.Bool().Draw(t, "hold")},
			Deferred:    rapid.Bool().Draw(t, "deferred"),
			Notices:     Notices{rapid.Bool().Draw(t, "mail begin"), rapid.Bool().Draw(t, "mail requeue"), rapid.Bool().Draw(t, "mail"), rapid.Bool().Draw(t, "webhook"), rapid.StringMatching(`([a-z0-9][a-z0-9._%+@=,-]{0,20})?`).Draw(t, "to")},
			For:         rapid.StringMatching(`([a-z0-9_.][a-z0-9._@+$-]{0,20})?`).Draw(t, "for"),
			Comment:     rapid.String().Draw(t, "comment"),
		}
		switch rapid.IntRange(0, 2).Draw(t, "begin") {
		case 1:
			tag.SbatchBegin = true
		case 2:
			tag.Begin = time.Unix(rapid.Int64Range(1, maxDeadline).Draw(t, "begin time"), 0).UTC()
		}
		got, err := ParseTag(tag.String())
		if err != nil || !reflect.DeepEqual(got, tag) {
			t.Fatalf("%q came back as %+v, %v", tag.String(), got, err)
		}
	})
}

// FuzzParseTag: users can change comments. What is parsed is valid, and parsing what it renders
// to gives the same.
func FuzzParseTag(f *testing.F) {
	for _, seed := range []string{"", "sluice/1", "sluice/1 id=" + testToken + " inc=0 min=1",
		"sluice/1 id=" + testToken + " min=1 sizes=1,2,4 total=1e3 unit=epoch grace=90s array=7_3/16%4 pin=2 hold=1 ; a ; b", "sluice/1 a=b=c  ;"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, comment string) {
		tag, err := ParseTag(comment)
		if err != nil {
			if !strings.Contains(err.Error(), "column ") {
				t.Fatalf("%q: no column in %v", comment, err)
			}
			return
		}
		if err := tag.Spec.Validate(); err != nil {
			t.Fatalf("%q: read as %+v, which is not valid: %v", comment, tag, err)
		}
		again, err := ParseTag(tag.String())
		if err != nil || !reflect.DeepEqual(again, tag) {
			t.Fatalf("%q: %+v became %+v, %v", comment, tag, again, err)
		}
	})
}
