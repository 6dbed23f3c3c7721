//! One signed increment, one read and one rejected request with the generated client.

use hmac::{Hmac, KeyInit, Mac};
use openapi::apis::{configuration::Configuration, leaderboard_api, scores_api, Error};
use openapi::models::{IncrementRequest, ReceiptOrReceipts};
use sha2::Sha256;
use std::env::var;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (key_id, secret) = (var("SBCTL_KEY_ID")?, var("SBCTL_KEY_SECRET")?);
    let event_id = uuid::Uuid::new_v4().to_string();
    let mut config = Configuration::new();
    config.base_path = var("SBCTL_SERVER")?;
    config.bearer_access_token = Some(var("SBCTL_TOKEN")?);
    // begin
    let now = chrono::Utc::now().fixed_offset();
    let sent = serde_json::to_value(now)?; // the text that is sent is the one to sign
    let text = format!("alice|5|{event_id}|{}", sent.as_str().unwrap());
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes())?;
    mac.update(text.as_bytes());
    let mut increment = IncrementRequest::new(5, event_id, now, "alice".into());
    increment.key_id = Some(key_id);
    increment.signature = Some(hex::encode(mac.finalize().into_bytes()));
    let receipt = scores_api::post_scores_increment(&config, increment.clone())?;
    let top = leaderboard_api::get_leaderboard_top(&config, Some(10), None, None, None, None, None, None, None, None)?;
    // end
    let ReceiptOrReceipts::Receipt(receipt) = receipt else { panic!("want one receipt: {receipt:?}") };
    println!("{} {}", receipt.new_score, top.entries.len());
    assert!(receipt.new_score >= 5 && top.board == "global", "{receipt:?} {top:?}");
    increment.delta = 6;
    match scores_api::post_scores_increment(&config, increment) {
        Err(Error::ResponseError(r)) if r.status == 401 && r.content.contains("invalid_signature") => Ok(()),
        other => panic!("an increment with a wrong signature: {other:?}"),
    }
}
