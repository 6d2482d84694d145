package space_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/elastic/sweep/space"
)

func mustParse(t testing.TB, params []string, wheres ...string) *space.Space {
	t.Helper()
	s, err := space.Parse(params, wheres)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestParametersPrintAsTheyAreRead(t *testing.T) {
	for text, want := range map[string]string{
		"lr=log:1e-5:1e-1":                     "lr=log:1e-05:0.1",
		"x=float:0:1:.25":                      "x=float:0:1:0.25",
		"x=float:-1:1":                         "x=float:-1:1",
		"depth=int:2:8":                        "depth=int:2:8",
		"depth=int:2:8:2":                      "depth=int:2:8:2",
		"w=logint:16:1024":                     "w=logint:16:1024",
		"opt=choice:sgd,adamw":                 "opt=choice:sgd,adamw",
		"seed=fixed:1":                         "seed=fixed:1",
		"seed=1":                               "seed=fixed:1",
		"data=http://host/a:b":                 "data=fixed:http://host/a:b",
		"host=node:8080":                       "host=fixed:node:8080",
		"at=10:00:00":                          "at=fixed:10:00:00",
		"momentum=float:.8:.99 if opt=sgd,nag": "momentum=float:0.8:0.99 if opt=sgd,nag",
		"model.lr = log:1:10":                  "model.lr=log:1:10",
	} {
		p, err := space.ParseParameter(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got := p.String(); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestBadInputSaysWhere(t *testing.T) {
	ok := []string{"lr=log:1e-5:1e-1", "depth=int:2:8", "opt=choice:sgd,adamw"}
	for _, c := range []struct {
		params, wheres []string
		index, column  int
		problem        space.Problem
	}{
		{[]string{"lr=log:0:1"}, nil, 0, 8, space.LogOfZero},
		{[]string{"lr=log:-1:1"}, nil, 0, 8, space.LogOfZero},
		{[]string{"a=int:1:2", "lr=float:2:1"}, nil, 1, 10, space.EmptyRange},
		{[]string{"lr=float:0:1:0"}, nil, 0, 14, space.BadStep},
		{[]string{"lr=float:0:1:2"}, nil, 0, 14, space.BadStep},
		{[]string{"lr=float:0:1e400"}, nil, 0, 12, space.BadNumber},
		{[]string{"lr=float:nan:1"}, nil, 0, 10, space.BadNumber},
		{[]string{"d=int:1.5:2"}, nil, 0, 7, space.BadNumber},
		{[]string{"lr=uniform:0:1"}, nil, 0, 4, space.Syntax},
		{[]string{"lr=float"}, nil, 0, 9, space.Syntax},
		{[]string{"lr"}, nil, 0, 3, space.Syntax},
		{[]string{"1r=2"}, nil, 0, 1, space.BadName},
		{[]string{"a-b=2"}, nil, 0, 2, space.BadName},
		{[]string{"and=2"}, nil, 0, 1, space.BadName},
		{[]string{"o=choice:a,,b"}, nil, 0, 12, space.EmptyRange},
		{[]string{"o=choice:a,a"}, nil, 0, 12, space.Twice},
		{[]string{"lr=1", "x=2", "lr=3"}, nil, 2, 1, space.Twice},
		{[]string{"lr=1", "LR=3"}, nil, 1, 1, space.Twice},
		{[]string{"a.b=1", "a_b=3"}, nil, 1, 1, space.Twice},
		{[]string{"m=float:0:1 if opt=sgd"}, nil, 0, 16, space.NoSuchName},
		{append(ok, "m=float:0:1 if opt=rms"), nil, 3, 16, space.OutOfRange},
		{[]string{"a=choice:x,y if b=x", "b=choice:x,y if a=x"}, nil, 0, 1, space.Circle},
		{nil, nil, 0, 1, space.NothingGiven},
		{ok, []string{"depth<4", "width<4"}, 1, 1, space.NoSuchName},
		{ok, []string{"depth<<4"}, 0, 7, space.Syntax},
		{ok, []string{"depth"}, 0, 1, space.WrongType},
		{ok, []string{"depth+1"}, 0, 1, space.WrongType},
		{ok, []string{"opt<'sgd'"}, 0, 4, space.WrongType},
		{ok, []string{"opt==sdg"}, 0, 6, space.NoSuchName},
		{ok, []string{"(depth<4"}, 0, 9, space.Syntax},
		{ok, []string{"1<depth<4"}, 0, 8, space.Syntax},
		{ok, []string{"depth<4 $"}, 0, 9, space.Syntax},
		{ok, []string{"depth>2", "depth<2"}, 1, 1, space.Unsatisfied},
	} {
		_, err := space.Parse(c.params, c.wheres)
		var e *space.Error
		if !errors.As(err, &e) {
			t.Errorf("%q %q: %v", c.params, c.wheres, err)
		} else if e.Index != c.index || e.Column != c.column || e.Problem != c.problem {
			t.Errorf("%q %q: text %d column %d %s, want %d %d %s: %v", c.params, c.wheres, e.Index, e.Column, e.Problem, c.index, c.column, c.problem, e)
		}
	}
}

func TestGridOfABillionPoints(t *testing.T) {
	s := mustParse(t, []string{"a=int:1:1000", "b=int:1:2000", "c=int:1:1000"})
	_, err := s.Grid(2000)
	var e *space.Error
	if !errors.As(err, &e) || e.Problem != space.TooLarge || e.Index != 1 {
		t.Errorf("%v", err)
	}
}

func TestConstraints(t *testing.T) {
	s := mustParse(t, []string{"depth=int:1:100", "width=int:1:100", "opt=choice:sgd,adamw", "m=float:0:1 if opt=sgd"})
	for where, want := range map[string]map[string]bool{
		"depth*width<=12":                   {"depth=3,width=4,opt=adamw": true, "depth=3,width=5,opt=adamw": false},
		"depth+2*width==11":                 {"depth=3,width=4,opt=adamw": true, "depth=4,width=3,opt=adamw": false},
		"(depth+2)*width=20":                {"depth=3,width=4,opt=adamw": true},
		"not depth>width and -depth<0":      {"depth=3,width=4,opt=adamw": true, "depth=5,width=4,opt=adamw": false},
		"depth % 2 == 0 or opt != 'sgd'":    {"depth=3,width=4,opt=adamw": true, "depth=3,width=4,opt=sgd,m=0.5": false, "depth=4,width=4,opt=sgd,m=0.5": true},
		"opt == sgd || depth/(width-4) > 0": {"depth=3,width=4,opt=adamw": false, "depth=3,width=5,opt=adamw": true, "depth=3,width=4,opt=sgd,m=0.5": true},
		"m < .4":                            {"depth=3,width=4,opt=adamw": true, "depth=3,width=4,opt=sgd,m=0.5": false},
	} {
		c := mustParse(t, []string{"depth=int:1:100", "width=int:1:100", "opt=choice:sgd,adamw", "m=float:0:1 if opt=sgd"}, where)
		for point, holds := range want {
			g, err := s.Given(point)
			if err != nil {
				t.Fatal(err)
			}
			p, _ := s.Complete(g, rand.New(rand.NewPCG(1, 2)))
			if p.String() != point {
				t.Errorf("%s became %s", point, p)
			}
			if c.Satisfies(p) != holds {
				t.Errorf("%s at %s: %v", where, p, !holds)
			}
		}
	}
}

func TestValuesPrintTheSameEverywhere(t *testing.T) {
	s := mustParse(t, []string{"lr=log:1e-5:1e-1", "depth=int:2:8", "opt=choice:sgd,adamw", "b=choice:32,64", "nesterov=choice:true,false", "m=float:.8:.99 if opt=sgd"})
	g, err := s.Given("lr=1e-3,opt=sgd,depth=4.0,b=64,nesterov=true,m=.9")
	if err != nil {
		t.Fatal(err)
	}
	p, _ := s.Complete(g, rand.New(rand.NewPCG(1, 2)))
	if got, want := p.String(), "lr=0.001,depth=4,opt=sgd,b=64,nesterov=true,m=0.9"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	data, err := json.Marshal(p)
	if want := `{"lr":0.001,"depth":4,"opt":"sgd","b":64,"nesterov":true,"m":0.9}`; err != nil || string(data) != want {
		t.Errorf("%s %v, want %s", data, err, want)
	}
	back, err := space.ReadPoint(data)
	if err != nil || back.String() != p.String() || !s.Holds(back) {
		t.Errorf("%s %v", back, err)
	}
	if got, want := fmt.Sprint(p.Environment()), "[SLUICE_PARAM_LR=0.001 SLUICE_PARAM_DEPTH=4 SLUICE_PARAM_OPT=sgd SLUICE_PARAM_B=64 SLUICE_PARAM_NESTEROV=true SLUICE_PARAM_M=0.9]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	args, err := s.Expand([]string{"--lr", "{lr}", "--m={m}", "x{depth}y{opt}", "${HOME}", `{"a":1}`}, p)
	if want := `[--lr 0.001 --m=0.9 x4ysgd ${HOME} {"a":1}]`; err != nil || fmt.Sprint(args) != want {
		t.Errorf("%s %v, want %s", args, err, want)
	}
	g, _ = s.Given("lr=1e-5,opt=adamw,depth=4,b=64,nesterov=true")
	p, _ = s.Complete(g, rand.New(rand.NewPCG(1, 2)))
	args, err = s.Expand([]string{"--m", "{m}", "--m={m}", "--lr", "{lr}"}, p)
	if want := "[--lr 1e-05]"; err != nil || fmt.Sprint(args) != want {
		t.Errorf("%s %v, want %s", args, err, want)
	}
	var e *space.Error
	if _, err = s.Expand([]string{"--wd {wd}"}, p); !errors.As(err, &e) || e.Column != 6 || e.Problem != space.NoSuchName {
		t.Errorf("%v", err)
	}
}

func TestTryErrors(t *testing.T) {
	s := mustParse(t, []string{"lr=log:1e-5:1e-1", "depth=int:2:8", "opt=choice:sgd,adamw", "m=float:.8:.99 if opt=sgd"})
	for text, want := range map[string]struct {
		column  int
		problem space.Problem
	}{
		"lr=1":              {4, space.OutOfRange},
		"lr=1e-3,depth=2.5": {15, space.OutOfRange},
		"lr=x":              {4, space.BadNumber},
		"wd=1":              {1, space.NoSuchName},
		"lr=.1, lr=.1":      {8, space.Twice},
		"lr":                {1, space.Syntax},
		"opt=adam":          {5, space.OutOfRange},
		"opt=adamw,m=.9":    {1, space.OutOfRange},
	} {
		_, err := s.Given(text)
		var e *space.Error
		if !errors.As(err, &e) || e.Column != want.column || e.Problem != want.problem {
			t.Errorf("%s: %v, want column %d, %s", text, err, want.column, want.problem)
		}
	}
}

// TestExact: a point that another program chose is one of the space, in its texts and its order, or it is
// refused with the reason.
func TestExact(t *testing.T) {
	s, err := space.Parse([]string{"m=float:.8:.99 if opt=sgd", "lr=log:1e-5:1e-1", "depth=int:2:8", "opt=choice:sgd,adamw", "size=fixed:32"}, []string{"depth*lr<.5"})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		`{"opt": "sgd", "lr": 1e-3, "depth": 4, "m": 0.9, "size": 32}`:    "m=0.9,lr=0.001,depth=4,opt=sgd,size=32",
		`{"size": 32, "opt": "adamw", "lr": 0.00123456789, "depth": 8.0}`: "lr=0.00123456789,depth=8,opt=adamw,size=32",
		`{"opt": "adamw", "lr": 1e-3, "depth": 4, "m": 0.9, "size": 32}`:  "m does not exist there: m=float:0.8:0.99 if opt=sgd",
		`{"opt": "sgd", "lr": 1e-3, "depth": 4, "size": 32}`:              "m is missing",
		`{"opt": "adamw", "lr": 1e-3, "depth": 4.5, "size": 32}`:          "depth: 4.5 is not a whole number",
		`{"opt": "adamw", "lr": 1, "depth": 4, "size": 32}`:               "lr: 1 is not a value of lr=log:1e-05:0.1",
		`{"opt": "adam", "lr": 1e-3, "depth": 4, "size": 32}`:             "opt: adam is not a value of opt=choice:sgd,adamw",
		`{"opt": "adamw", "lr": 1e-3, "depth": 4, "size": 32, "wd": 0.1}`: "no parameter is called wd",
		`{"opt": "adamw", "lr": 0.1, "depth": 8, "size": 32}`:             "depth*lr<.5 is not satisfied",
		`{"opt": "adamw", "lr": "NaN", "depth": 4, "size": 32}`:           `lr: "NaN" is not a number`,
		`{"opt": "adamw", "lr": [1], "depth": 4, "size": 32}`:             "parameters of a trial: lr: want",
		`{"opt": "a;b", "lr": 1e-3, "depth": 4, "size": 32}`:              "opt: a;b is not a value of",
		`null`: "parameters of a trial: want a JSON object",
	} {
		p, err := s.Exact([]byte(text))
		if got := p.String(); err == nil && got != want || err == nil && !s.Holds(p) || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %s, %v; want %s", text, got, err, want)
		}
	}
}
