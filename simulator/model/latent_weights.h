// The projections of attention that stores a latent vector (MLA, arXiv 2405.04434): those of plain shapes and of
// checkpoints with an indexer are the same.
#pragma once

#include <vector>

#include "simulator/model/model_shape.h"

namespace kvplan::model {

/// Appends them, without the output projection. REQUIRES: cache.kind is kLatent.
void add_latent_projections(const ModelShape& shape, const LayerCache& cache, std::vector<WeightMatrix>& out);

}  // namespace kvplan::model
