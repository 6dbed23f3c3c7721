// One signed increment, one read and one rejected request with the generated client.
#include <CppRestOpenAPIClient/api/LeaderboardApi.h>
#include <CppRestOpenAPIClient/api/ScoresApi.h>
#include <boost/uuid/random_generator.hpp>
#include <boost/uuid/uuid_io.hpp>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <openssl/hmac.h>
#include <sstream>

using namespace org::openapitools::client;

int main() {
    const std::string keyId = std::getenv("SBCTL_KEY_ID"), secret = std::getenv("SBCTL_KEY_SECRET");
    const std::string eventId = boost::uuids::to_string(boost::uuids::random_generator()());
    auto configuration = std::make_shared<api::ApiConfiguration>();
    configuration->setBaseUrl(std::getenv("SBCTL_SERVER"));
    configuration->getDefaultHeaders()["Authorization"] = std::string("Bearer ") + std::getenv("SBCTL_TOKEN");
    auto client = std::make_shared<api::ApiClient>(configuration);
    api::ScoresApi scores(client);
    api::LeaderboardApi leaderboard(client);
    // begin
    const auto now = utility::datetime::utc_now();
    const std::string text = "alice|5|" + eventId + "|" + now.to_string(utility::datetime::ISO_8601);
    unsigned char sum[32];
    HMAC(EVP_sha256(), secret.data(), int(secret.size()), (const unsigned char *)text.data(), text.size(), sum, nullptr);
    std::ostringstream signature;
    for (unsigned char b : sum) signature << std::hex << std::setw(2) << std::setfill('0') << int(b);
    auto increment = std::make_shared<model::IncrementRequest>();
    increment->setUserId("alice");
    increment->setDelta(5);
    increment->setEventId(eventId);
    increment->setTimestamp(now);
    increment->setKeyId(keyId);
    increment->setSignature(signature.str());
    const auto receipt = *scores.postScoresIncrement(increment).get();
    const auto none = boost::none;
    const auto top = leaderboard.getLeaderboardTop(10, none, none, none, none, none, none, none, none).get();
    std::cout << receipt.getNewScore() << " " << top->getEntries().size() << "\n";
    // end
    if (receipt.getNewScore() < 5 || top->getBoard() != "global") {
        std::cerr << "unexpected: " << receipt.getNewScore() << " on " << top->getBoard() << "\n";
        return 1;
    }
    try {
        increment->setDelta(6);
        scores.postScoresIncrement(increment).get();
        std::cerr << "an increment with a wrong signature was counted\n";
        return 1;
    } catch (const api::ApiException &e) {
        std::stringstream body;
        body << e.getContent()->rdbuf();
        if (e.error_code().value() != 401 || body.str().find("invalid_signature") == std::string::npos) {
            std::cerr << e.error_code().value() << " " << body.str() << "\n";
            return 1;
        }
    }
}
