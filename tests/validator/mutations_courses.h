// Mutations of logs in which requests drop tokens. Each is Mutation::apply.
#pragma once

#include <string>

#include "simulator/base/random.h"
#include "tests/validator/run_log.h"

namespace kvplan::test {

bool drop_another_token(WholeLog& log, Random& random, std::string& what);
bool lose_a_number(WholeLog& log, Random& random, std::string& what);
bool other_kept_tokens(WholeLog& log, Random& random, std::string& what);
bool let_another_block_go(WholeLog& log, Random& random, std::string& what);
bool let_a_block_less_go(WholeLog& log, Random& random, std::string& what);
bool other_metadata(WholeLog& log, Random& random, std::string& what);
bool other_placement(WholeLog& log, Random& random, std::string& what);
bool another_count_of_a_course(WholeLog& log, Random& random, std::string& what);
bool other_tracks_alike(WholeLog& log, Random& random, std::string& what);
bool other_number_kept(WholeLog& log, Random& random, std::string& what);
bool other_entry(WholeLog& log, Random& random, std::string& what);
bool do_not_move(WholeLog& log, Random& random, std::string& what);

}  // namespace kvplan::test
