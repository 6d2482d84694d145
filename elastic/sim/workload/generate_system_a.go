package workload

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
)

// imageModel is one of the eight image models of system A's experiment. The
// publication names neither their speeds nor their curves; these are chosen, not
// measured. The efficiency on four GPUs of a node, 1/(1 + 3*Serial + 12*PerGPU),
// covers what is published for data-parallel training of such networks on
// commodity nodes: .75 for those with many parameters and little arithmetic, .94
// for the deep ones. PerNode follows the size of the gradient; its scale, and the
// upper end of large jobs, are such that the two baselines stand to each other
// about as published: at 15 min between jobs, mean over w1 to w4, EF has 1.43 times
// the JCT of FCFS and 1.08 times its makespan; here, over 30 seeds, 1.34 and 1.10.
// The knapsack, which crosses nodes less often, hardly depends on that scale. Two
// jobs of a model have the same speeds, so that what one teaches is true of the
// other.
type imageModel struct {
	name  string
	speed Parametric // One is seconds an epoch of a CIFAR-sized data set
}

// imageModels: the comment is the efficiency on 4 GPUs of one node and the
// speed-up on 12 GPUs of three.
var imageModels = []imageModel{
	{"alexnet", Parametric{One: 12, Serial: .090, PerGPU: .0050, PerNode: .1050}},      // .75, 2.3
	{"vgg16", Parametric{One: 48, Serial: .070, PerGPU: .0060, PerNode: .0875}},        // .78, 2.6
	{"mobilenet-v2", Parametric{One: 20, Serial: .065, PerGPU: .0020, PerNode: .0280}}, // .82, 4.5
	{"resnet18", Parametric{One: 18, Serial: .050, PerGPU: .0020, PerNode: .0420}},     // .85, 4.3
	{"googlenet", Parametric{One: 36, Serial: .040, PerGPU: .0015, PerNode: .0280}},    // .88, 5.2
	{"densenet121", Parametric{One: 60, Serial: .033, PerGPU: .0010, PerNode: .0280}},  // .90, 5.5
	{"resnet50", Parametric{One: 45, Serial: .025, PerGPU: .0010, PerNode: .0350}},     // .92, 5.3
	{"resnet152", Parametric{One: 100, Serial: .018, PerGPU: .0008, PerNode: .0420}},   // .94, 5.2
}

// jobClass is a size of system A's: a job's run time on one GPU is drawn evenly
// from the range, in whole epochs.
type jobClass struct {
	name    string
	minutes [2]int
}

// jobClasses are the published ones; the upper end of large is chosen.
var jobClasses = [4]jobClass{{"micro", [2]int{6, 10}}, {"small", [2]int{11, 60}}, {"medium", [2]int{61, 120}}, {"large", [2]int{121, 360}}}

// mixes are how many of twenty jobs are of each class, workload by workload. The
// publication says in words which prevail; the numbers are chosen.
var mixes = [4][4]int{{8, 6, 4, 2}, {0, 12, 6, 2}, {0, 7, 7, 6}, {0, 2, 6, 12}}

// systemA makes workload k of system A's experiment: 20 jobs in Poisson arrivals,
// every job on one GPU at least and the whole cluster at most. Each twenty jobs
// have the mix exactly; order, model and size are drawn. Seeds give the same jobs
// whatever the time between them.
func systemA(k int) func(request) (Workload, error) {
	return func(r request) (Workload, error) {
		arrival, err := r.arrival(15 * time.Minute)
		if err != nil {
			return Workload{}, err
		}
		count := or(r.Jobs, 20)
		w := Workload{Name: r.name, Seed: r.seed, Count: count}
		w.Note = fmt.Sprintf("system A's experiment: %s; mean time between jobs %s; 8 image models with chosen speed curves", mixNote(mixes[k]), arrival)
		w.Jobs = func(yield func(Job) bool) {
			sizes, arrivals := stream(r.seed, sizesStream), stream(r.seed, arrivalsStream)
			var deck []int
			at := time.Duration(0)
			for i := range count {
				if i > 0 {
					at = after(at, arrivals.ExpFloat64()*arrival.Seconds())
				}
				if len(deck) == 0 {
					deck = shuffledDeck(sizes, mixes[k])
				}
				job := imageJob(sizes, deck[0])
				deck = deck[1:]
				job.Name, job.User, job.Submit = "job"+strconv.Itoa(i+1), users[i%len(users)], at
				if !yield(job) {
					return
				}
			}
		}
		return w, nil
	}
}

// shuffledDeck is twenty classes in the proportions of the mix.
func shuffledDeck(rng *rand.Rand, mix [4]int) []int {
	var deck []int
	for class, n := range mix {
		deck = append(deck, slices.Repeat([]int{class}, n)...)
	}
	rng.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
	return deck
}

// imageJob draws a job of the class: a model, then whole epochs that take a time
// within the class's range on one GPU.
func imageJob(rng *rand.Rand, class int) Job {
	m := imageModels[rng.IntN(len(imageModels))]
	minutes := jobClasses[class].minutes
	least := int(math.Ceil(60 * float64(minutes[0]) / m.speed.One))
	most := int(60 * float64(minutes[1]) / m.speed.One)
	epochs := least + rng.IntN(most-least+1)
	return Job{
		Spec:  elastic.Spec{Min: 1, AllowUneven: true, Total: float64(epochs), Unit: elastic.Epochs, Model: m.name},
		Asked: 1, Speeds: m.speed,
	}
}

// mixNote says a mix in words: "40% micro (6-10 min), ...".
func mixNote(mix [4]int) string {
	text := ""
	for class, n := range mix {
		if n == 0 {
			continue
		}
		if text != "" {
			text += ", "
		}
		c := jobClasses[class]
		text += fmt.Sprintf("%d%% %s (%d-%d min on one GPU)", 5*n, c.name, c.minutes[0], c.minutes[1])
	}
	return text
}

// users are the made-up owners of generated jobs.
var users = []string{"ann", "bob", "carol", "dave", "eve", "frank", "grace", "heidi"}
