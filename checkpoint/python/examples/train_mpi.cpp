// An elastic MPI program in C++, complete: data-parallel linear regression. The number
// of ranks changes under it and its result does not, up to the rounding of sums in
// another order: each step's work is cut into a fixed number of shards.
//
//     mpic++ -O2 -I"$SLUICE_PYTHON/include" -o train_mpi train_mpi.cpp
//
// SLUICE_PYTHON is set in a job; elsewhere give -I the folder that holds sluice.h.
//
// What makes it elastic is marked [elastic].

#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "sluice.h"  // [elastic]

const int shards = 12, samples = 8, features = 16;

// Adds the gradient of a shard's squared error, and behind it the error.
static void gradient(const std::vector<double> &weights, long step, int shard, std::vector<double> &sum) {
	std::mt19937_64 random(static_cast<uint64_t>(step) * shards + shard);
	std::normal_distribution<double> normal;
	for (int i = 0; i < samples; i++) {
		double input[features], wrong = 0;
		for (int f = 0; f < features; f++) wrong += (input[f] = normal(random)) * (weights[f] - (f + 1));
		for (int f = 0; f < features; f++) sum[f] += wrong * input[f];
		sum[features] += wrong * wrong;
	}
}

static bool save(const std::string &folder, const std::vector<double> &weights) {  // [elastic]
	FILE *out = fopen((folder + "/weights").c_str(), "wb");  // [elastic]
	bool good = out && fwrite(weights.data(), sizeof(double), features, out) == features;  // [elastic]
	return out && fclose(out) == 0 && good;  // [elastic]
}  // [elastic]

static void load(const std::string &folder, std::vector<double> &weights) {  // [elastic]
	FILE *in = fopen((folder + "/weights").c_str(), "rb");  // [elastic]
	if (!in || fread(weights.data(), sizeof(double), features, in) != features) MPI_Abort(MPI_COMM_WORLD, 1);  // [elastic]
	fclose(in);  // [elastic]
}  // [elastic]

int main(int argc, char **argv) {
	MPI_Init(&argc, &argv);
	int rank, ranks;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	const long steps = argc > 1 ? atol(argv[1]) : 200;
	const double pause = argc > 2 ? atof(argv[2]) : 0;  // seconds in each step, for demonstrations
	std::vector<double> weights(features, 0.0);
	char folder[SLUICE_PATH];  // [elastic]
	long first = 0;  // [elastic]
	if (rank == 0 && sluice_resume(folder, &first, nullptr)) load(folder, weights);  // [elastic]
	MPI_Bcast(&first, 1, MPI_LONG, 0, MPI_COMM_WORLD);  // [elastic]
	MPI_Bcast(weights.data(), features, MPI_DOUBLE, 0, MPI_COMM_WORLD);  // [elastic]
	for (long step = first; step < steps; step++) {  // [elastic]
		std::vector<double> mine(features + 1, 0.0), total(features + 1);
		for (int shard = rank; shard < shards; shard += ranks) gradient(weights, step, shard, mine);
		MPI_Allreduce(mine.data(), total.data(), features + 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		for (int f = 0; f < features; f++) weights[f] -= 0.001 * total[f];
		if (pause > 0) usleep(static_cast<useconds_t>(pause * 1e6));
		if (rank == 0) {  // [elastic]
			sluice_report(step + 1, 0);  // [elastic]
			// What is equal on all ranks is saved by one; the others meet it in the next sum.
			if (sluice_asked() && sluice_begin(folder) == 0 && save(folder, weights)) sluice_commit(folder, step + 1, 0);  // [elastic]
		}  // [elastic]
	}
	if (rank == 0) {
		sluice_finished();  // [elastic]
		double off = 0;
		for (int f = 0; f < features; f++) off = std::max(off, std::abs(weights[f] - (f + 1)));
		printf("finished after %ld steps on %d rank(s): error %.6g\n", steps, ranks, off);
	}
	MPI_Finalize();
}
