<?php
// One signed increment, one read and one rejected request with the generated client. The argument is its folder.

use OpenAPI\Client\Api\LeaderboardApi;
use OpenAPI\Client\Api\ScoresApi;
use OpenAPI\Client\ApiException;
use OpenAPI\Client\Configuration;
use OpenAPI\Client\Model\IncrementRequest;

foreach (['Psr/Http/Message', 'GuzzleHttp/Psr7', 'GuzzleHttp/Promise', 'GuzzleHttp'] as $library) {
    require_once $library . '/autoload.php'; // of Debian; elsewhere that of composer
}
spl_autoload_register(function (string $class) use ($argv) {
    $file = $argv[1] . '/lib/' . str_replace(['OpenAPI\\Client\\', '\\'], ['', '/'], $class) . '.php';
    if (is_file($file)) {
        require $file;
    }
});
$config = Configuration::getDefaultConfiguration()
    ->setHost(getenv('SBCTL_SERVER'))->setAccessToken(getenv('SBCTL_TOKEN'));
$keyId = getenv('SBCTL_KEY_ID');
$secret = getenv('SBCTL_KEY_SECRET');
$eventId = bin2hex(random_bytes(16));
// begin
$now = new DateTime('now', new DateTimeZone('UTC'));
$text = implode('|', ['alice', 5, $eventId, $now->format(DateTime::ATOM)]);
$increment = new IncrementRequest([
    'user_id' => 'alice', 'delta' => 5, 'event_id' => $eventId, 'timestamp' => $now,
    'key_id' => $keyId, 'signature' => hash_hmac('sha256', $text, $secret),
]);
$receipt = (new ScoresApi(null, $config))->postScoresIncrement($increment);
$top = (new LeaderboardApi(null, $config))->getLeaderboardTop(10);
echo $receipt->getNewScore(), ' ', count($top->getEntries()), "\n";
// end
if ($receipt->getNewScore() < 5) {
    throw new Exception("got $receipt");
}
try {
    (new ScoresApi(null, $config))->postScoresIncrement($increment->setDelta(6));
    throw new Exception('an increment with a wrong signature was counted');
} catch (ApiException $e) {
    if ($e->getCode() !== 401) {
        throw $e;
    }
}
