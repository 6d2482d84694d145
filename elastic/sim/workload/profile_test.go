package workload

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// grids draws measured shapes: columns whose ends rise with the nodes, as full and
// empty nodes do.
func grids(t *rapid.T) *grid {
	g := newGrid()
	nodes := 0
	for range rapid.IntRange(1, 6).Draw(t, "columns") {
		nodes += rapid.IntRange(1, 4).Draw(t, "nodes")
		gpus := rapid.SliceOfNDistinct(rapid.IntRange(nodes, 4*nodes), 0, 8, rapid.ID).Draw(t, "gpus")
		for _, n := range append(gpus, nodes, 4*nodes) {
			for _, local := range []int{8, 16, 64} {
				g.set(shape{nodes, n}, local, plane(nodes, n, local))
			}
		}
	}
	g.finish()
	return g
}

// plane is a step that depends on nodes, GPUs and batch linearly.
func plane(nodes, gpus, local int) times {
	x := 1 + .3*float64(nodes) + .05*float64(gpus) + .01*float64(local)
	return times{2 * x, x}
}

// TestGridIsExactOnPlanes: weights are at least 0, sum to 1, and every linear
// function comes out as it went in; outside the measurements there is no answer.
func TestGridIsExactOnPlanes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := grids(t)
		nodes := rapid.IntRange(0, 26).Draw(t, "at nodes")
		gpus := rapid.IntRange(0, 110).Draw(t, "at gpus")
		local := rapid.IntRange(1, 80).Draw(t, "at batch")
		most, _ := g.widest()
		inside := nodes >= g.columns[0].nodes && nodes <= most && gpus >= nodes && gpus <= 4*nodes
		sum, corners := 0.0, g.corners(nodes, gpus)
		for _, c := range corners {
			if c.weight < 0 {
				t.Fatalf("%+v", corners)
			}
			sum += c.weight
		}
		if inside != (len(corners) > 0) || inside && math.Abs(sum-1) > 1e-9 {
			t.Fatalf("(%d,%d) has weights %+v", nodes, gpus, corners)
		}
		got, ok := g.read(nodes, gpus, local)
		if ok != (inside && local >= 8 && local <= 64) {
			t.Fatalf("(%d,%d) at %d is %v, %v", nodes, gpus, local, got, ok)
		}
		if want := plane(nodes, gpus, local); ok && (math.Abs(got.step-want.step) > 1e-9 || math.Abs(got.sync-want.sync) > 1e-9) {
			t.Fatalf("(%d,%d) at %d is %v, want %v", nodes, gpus, local, got, want)
		}
	})
}

// TestStripIsDelaunay: no shape of a strip lies within the circle of a cell.
func TestStripIsDelaunay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		column := func(nodes int) column {
			gpus := rapid.SliceOfNDistinct(rapid.IntRange(1, 40), 1, 9, rapid.ID).Draw(t, "gpus")
			slices.Sort(gpus)
			return column{nodes, gpus}
		}
		s := strip{column(2), column(2 + rapid.IntRange(1, 8).Draw(t, "apart"))}
		for at := (front{}); ; {
			next, ok := s.next(at)
			if !ok {
				return
			}
			corners := []front{{at.l, -1}, {-1, at.r}, {next.l, -1}}
			if next.l == at.l {
				corners[2] = front{-1, next.r}
			}
			for l := range s.left.gpus {
				s.outside(t, corners, front{l, -1})
			}
			for r := range s.right.gpus {
				s.outside(t, corners, front{-1, r})
			}
			at = next
		}
	})
}

// outside fails when the shape is within the circle through the corners, each an
// index into one of the columns.
func (s strip) outside(t *rapid.T, corners []front, p front) {
	xy := func(p front) (x, y float64) {
		if p.l >= 0 {
			return float64(s.left.nodes), float64(s.left.gpus[p.l])
		}
		return float64(s.right.nodes), float64(s.right.gpus[p.r])
	}
	px, py := xy(p)
	var m [3][3]float64
	for i, c := range corners {
		x, y := xy(c)
		x, y = x-px, y-py
		m[i] = [3]float64{x, y, x*x + y*y}
	}
	det := m[0][0]*(m[1][1]*m[2][2]-m[1][2]*m[2][1]) - m[0][1]*(m[1][0]*m[2][2]-m[1][2]*m[2][0]) + m[0][2]*(m[1][0]*m[2][1]-m[1][1]*m[2][0])
	ax, ay := xy(corners[0])
	bx, by := xy(corners[1])
	cx, cy := xy(corners[2])
	if turn := (bx-ax)*(cy-ay) - (by-ay)*(cx-ax); turn < 0 {
		det = -det
	}
	if det > 1e-6 {
		t.Fatalf("%v and %v: %v lies within the circle of %v", s.left, s.right, p, corners)
	}
}

// TestGridTakesBothDiagonals: in a rectangle of shapes the mean of both ways.
func TestGridTakesBothDiagonals(t *testing.T) {
	g := newGrid()
	for s, step := range map[shape]float64{{2, 4}: 1, {2, 8}: 2, {4, 4}: 3, {4, 8}: 8} {
		g.set(s, 1, times{step: step})
	}
	g.finish()
	if got, ok := g.read(3, 6, 1); !ok || got.step != (1+8+2+3)/4. {
		t.Errorf("the middle takes %v", got.step)
	}
}

// TestPlaces: a split is its own place, and all rotations are one.
func TestPlaces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		split := rapid.SliceOfN(rapid.IntRange(1, 9), 1, 16).Draw(t, "split")
		key, ok := exactly(split)
		if !ok || !slices.Equal(key.split(), split) {
			t.Fatalf("%v is %v", split, key.split())
		}
		i := rapid.IntRange(0, len(split)-1).Draw(t, "turned by")
		if rotated(split) != rotated(slices.Concat(split[i:], split[:i])) {
			t.Fatalf("%v turned by %d is another ring", split, i)
		}
	})
}

// FuzzProfile: no text of the files panics or hangs, and what is read answers with
// positive times.
func FuzzProfile(f *testing.F) {
	const placements = "placement,local_bsz,step_time,sync_time\n"
	const scalability = "num_nodes,num_replicas,local_bsz,step_time,sync_time\n"
	const validation = "progress,iteration,metric,grad_sqr,grad_var\n"
	f.Add(placements+"1,10,1,0\n2,10,1.2,.2\n", scalability+"4,4,10,2,1\n8,8,10,3,2\n", validation+"16,16,.1,1,3\n")
	f.Add(placements+"99,1,1e-9,0\n", scalability+"256,1024,1,1,1\n", validation+"1e30,1,1,1e30,1e-30\n")
	dir := filepath.Join(f.TempDir(), "x")
	if err := os.Mkdir(dir, 0o700); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, placements, scalability, validation string) {
		for name, text := range map[string]string{
			"placements.csv": placements, "scalability.csv": scalability,
			"validation-20.csv": validation, "validation-80.csv": validation,
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		p, err := readProfile(dir)
		if err != nil {
			return
		}
		speeds, err := p.Fixed(40)
		if err != nil {
			t.Fatal(err)
		}
		for _, split := range [][]int{{1}, {2}, {9, 9}, {1, 2, 1}, slices.Repeat([]int{2}, 5), slices.Repeat([]int{1}, 300)} {
			if s := speeds.Seconds(split); !(s > 0) {
				t.Errorf("%v takes %v", split, s)
			}
		}
	})
}
