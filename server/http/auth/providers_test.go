package auth_test

import (
	"crypto/elliptic"
	"encoding/base64"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// issued is a token as an identity provider issues it, at noon. @iat, @exp and @user in
// its claims are replaced.
type issued struct {
	name           string
	policy         auth.Policy // but for its lifetime
	header, claims string
	user           string
	scopes         []string
}

// The claims follow the documentation of the providers; only ids are invented.
var issuedTokens = []issued{
	{
		name:   "Auth0 access token",
		policy: auth.Policy{Issuer: "https://games.eu.auth0.com/", Audience: "https://scores.example.com"},
		header: `{"alg":"RS256","typ":"JWT","kid":"rs"}`,
		claims: `{"iss":"https://games.eu.auth0.com/","sub":"5f7c8ec7c33c6c004bbafe82",
			"aud":["https://scores.example.com","https://games.eu.auth0.com/userinfo"],"iat":@iat,"exp":@exp,
			"azp":"my_client_id","scope":"openid profile score:update","permissions":["score:admin"]}`,
		user: "5f7c8ec7c33c6c004bbafe82", scopes: []string{"openid", "profile", "score:update"},
	},
	{
		name: "Auth0 permissions, RFC 9068 profile",
		policy: auth.Policy{
			Issuer: "https://games.eu.auth0.com/", Audience: "https://scores.example.com",
			ScopeClaims: []string{"permissions"},
		},
		header: `{"alg":"RS256","typ":"at+jwt","kid":"rs"}`,
		claims: `{"iss":"https://games.eu.auth0.com/","sub":"client@clients","aud":"https://scores.example.com",
			"iat":@iat,"exp":@exp,"scope":"score:admin","jti":"x","client_id":"client",
			"permissions":["score:operate","read:all"]}`,
		user: "client@clients", scopes: []string{"score:operate", "read:all"},
	},
	{
		name:   "Auth0 access token of its database users",
		policy: auth.Policy{Issuer: "https://games.eu.auth0.com/", Audience: "https://scores.example.com"},
		header: `{"alg":"RS256","typ":"JWT","kid":"rs"}`,
		claims: `{"iss":"https://games.eu.auth0.com/","sub":"auth0|5f7c8ec7","aud":"https://scores.example.com",
			"iat":@iat,"exp":@exp}`,
		user: "x:mf2xi2bqpq2wmn3dhbswgny",
	},
	{
		name: "an e-mail address as the user",
		policy: auth.Policy{
			Issuer: "https://accounts.google.com", Audience: "1234987819200.apps.googleusercontent.com",
			UserClaim: "email",
		},
		header: `{"alg":"RS256","kid":"rs","typ":"JWT"}`,
		claims: `{"iss":"https://accounts.google.com","aud":"1234987819200.apps.googleusercontent.com","sub":"1076",
			"email":"ada@example.com","email_verified":true,"iat":@iat,"exp":@exp}`,
		user: "ada@example.com",
	},
	{
		name:   "Keycloak access token",
		policy: auth.Policy{Issuer: "https://id.example.com/realms/games", Audience: "account"},
		header: `{"alg":"RS256","typ":"JWT","kid":"rs"}`,
		claims: `{"exp":@exp,"iat":@iat,"auth_time":@iat,"jti":"onrtac:8b1c2a1e",
			"iss":"https://id.example.com/realms/games",
			"aud":"account","sub":"9f2b5d0e-1f6c-4a57-9c52-8f0f5a9d3b11","typ":"Bearer","azp":"game","sid":"c7",
			"acr":"1","allowed-origins":["https://game.example.com"],"realm_access":{"roles":["offline_access"]},
			"resource_access":{"account":{"roles":["view-profile"]}},"scope":"profile email","email_verified":true,
			"name":"Ada L","preferred_username":"ada","email":"ada@example.com"}`,
		user: "9f2b5d0e-1f6c-4a57-9c52-8f0f5a9d3b11", scopes: []string{"profile", "email"},
	},
	{
		name: "Keycloak lightweight access token",
		policy: auth.Policy{
			Issuer: "https://id.example.com/realms/games", Audience: "scores", ClientIDs: []string{"other", "game"},
		},
		header: `{"alg":"RS256","typ":"JWT","kid":"rs"}`,
		claims: `{"exp":@exp,"iat":@iat,"jti":"trrtac:1","iss":"https://id.example.com/realms/games",
			"sub":"9f2b5d0e-1f6c-4a57-9c52-8f0f5a9d3b11","typ":"Bearer","azp":"game","sid":"c7","scope":"profile"}`,
		user: "9f2b5d0e-1f6c-4a57-9c52-8f0f5a9d3b11", scopes: []string{"profile"},
	},
	{
		name:   "Okta access token",
		policy: auth.Policy{Issuer: "https://games.okta.com/oauth2/default", Audience: "api://default"},
		header: `{"kid":"rs","alg":"RS256"}`,
		claims: `{"ver":1,"jti":"AT.0mP4JKAZX1iACIT4vbEDF7LpvDVjxypPMf0D7uX39RE",
			"iss":"https://games.okta.com/oauth2/default",
			"aud":"api://default","iat":@iat,"exp":@exp,"cid":"0oabskvc6442nkvQO0h7","uid":"00uafsqb","auth_time":@iat,
			"scp":["openid","score:update"],"sub":"00uid4BxXw6I6TV4m0g3"}`,
		user: "00uid4BxXw6I6TV4m0g3", scopes: []string{"openid", "score:update"},
	},
	{
		name: "Cognito access token",
		policy: auth.Policy{
			Issuer:   "https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_example",
			Audience: "scores", ClientIDs: []string{"xxxxxxxxxxxxexample"},
		},
		header: `{"kid":"rs","alg":"RS256"}`,
		claims: `{"sub":"aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee","cognito:groups":["players"],
			"iss":"https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_example","version":2,
			"client_id":"xxxxxxxxxxxxexample","origin_jti":"o","event_id":"e","token_use":"access",
			"scope":"aws.cognito.signin.user.admin scores/score:update","auth_time":@iat,"exp":@exp,"iat":@iat,
			"jti":"j","username":"my-test-user"}`,
		user:   "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee",
		scopes: []string{"aws.cognito.signin.user.admin", "scores/score:update"},
	},
	{
		name: "Cognito ID token",
		policy: auth.Policy{
			Issuer:   "https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_example",
			Audience: "xxxxxxxxxxxxexample",
		},
		header: `{"kid":"rs","alg":"RS256"}`,
		claims: `{"sub":"aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee","email_verified":true,"token_use":"id",
			"auth_time":@iat,
			"iss":"https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_example","cognito:username":"ada","exp":@exp,
			"iat":@iat,"aud":"xxxxxxxxxxxxexample","email":"ada@example.com","event_id":"e"}`,
		user: "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee",
	},
	{
		name: "Google ID token",
		policy: auth.Policy{
			Issuer: "https://accounts.google.com", Audience: "1234987819200.apps.googleusercontent.com",
		},
		header: `{"alg":"RS256","kid":"rs","typ":"JWT"}`,
		claims: `{"iss":"https://accounts.google.com","azp":"1234987819200.apps.googleusercontent.com",
			"aud":"1234987819200.apps.googleusercontent.com","sub":"10769150350006150715113082367",
			"at_hash":"HK6E_P6Dh8Y9",
			"hd":"example.com","email":"ada@example.com","email_verified":true,"iat":@iat,"exp":@exp,
			"nonce":"0394852"}`,
		user: "10769150350006150715113082367",
	},
	{
		name: "Entra ID access token, v2",
		policy: auth.Policy{
			Issuer:   "https://login.microsoftonline.com/aaaabbbb-0000-cccc-1111-dddd2222eeee/v2.0",
			Audience: "00001111-aaaa-2222-bbbb-3333cccc4444",
		},
		header: `{"typ":"JWT","alg":"RS256","x5t":"nOo3ZDrODXEK1jKWhXslHR_KXEg","kid":"rs"}`,
		claims: `{"aud":"00001111-aaaa-2222-bbbb-3333cccc4444",
			"iss":"https://login.microsoftonline.com/aaaabbbb-0000-cccc-1111-dddd2222eeee/v2.0","iat":@iat,"nbf":@iat,
			"exp":@exp,"aio":"AXQAi/8IAAAA","azp":"11112222-bbbb-3333-cccc-4444dddd5555","azpacr":"0","name":"Ada L",
			"oid":"aaaaaaaa-0000-1111-2222-bbbbbbbbbbbb","preferred_username":"ada@example.com","rh":"0.AAAA",
			"roles":["score:admin"],"scp":"access_as_user score:update",
			"sub":"HKZpfaHyWadeOouYlitjrI-KffTm222X5rrV3xDqfKQ","tid":"aaaabbbb-0000-cccc-1111-dddd2222eeee",
			"uti":"fqiBqXLPj0eQa82S-IYFAA","ver":"2.0","xms_ftd":"x"}`,
		user: "HKZpfaHyWadeOouYlitjrI-KffTm222X5rrV3xDqfKQ", scopes: []string{"access_as_user", "score:update"},
	},
	{
		name:   "Firebase ID token",
		policy: auth.Policy{Issuer: "https://securetoken.google.com/my-game", Audience: "my-game"},
		header: `{"alg":"RS256","kid":"rs","typ":"JWT"}`,
		claims: `{"iss":"https://securetoken.google.com/my-game","aud":"my-game","auth_time":@iat,
			"user_id":"nqvBFeDXrUhvFxVlLTzMMnN5c2V0","sub":"nqvBFeDXrUhvFxVlLTzMMnN5c2V0","iat":@iat,"exp":@exp,
			"email":"ada@example.com","email_verified":false,
			"firebase":{"identities":{"email":["ada@example.com"]},"sign_in_provider":"password"}}`,
		user: "nqvBFeDXrUhvFxVlLTzMMnN5c2V0",
	},
	{
		name:   "Supabase access token",
		policy: auth.Policy{Issuer: "https://abcdefgh.supabase.co/auth/v1", Audience: "authenticated"},
		header: `{"alg":"ES256","kid":"es","typ":"JWT"}`,
		claims: `{"iss":"https://abcdefgh.supabase.co/auth/v1","sub":"123e4567-e89b-12d3-a456-426614174000",
			"aud":"authenticated","exp":@exp,"iat":@iat,"email":"ada@example.com","phone":"",
			"app_metadata":{"provider":"email","providers":["email"]},"user_metadata":{"scope":"score:admin"},
			"role":"authenticated","aal":"aal1","amr":[{"method":"password","timestamp":@iat}],
			"session_id":"9a37e7c8-6b0d-4b7e-9a53-0c1d2e3f4a5b","is_anonymous":false}`,
		user: "123e4567-e89b-12d3-a456-426614174000",
	},
	{
		name: "Clerk session token",
		policy: auth.Policy{
			Issuer: "https://clean-mayfly-62.clerk.accounts.dev", Audience: "scores",
			ClientIDs: []string{"https://game.example.com"},
		},
		header: `{"alg":"RS256","cat":"cl_B7d4PD111AAA","kid":"rs","typ":"JWT"}`,
		claims: `{"azp":"https://game.example.com","exp":@exp,"fva":[0,-1],"iat":@iat,
			"iss":"https://clean-mayfly-62.clerk.accounts.dev","nbf":@iat,"sid":"sess_2xYq","sts":"active",
			"sub":"user_2NNEqL2nrIRdJ194ndJqAHwEfxC","v":2}`,
		user: "user_2NNEqL2nrIRdJ194ndJqAHwEfxC",
	},
	{
		name:   "Epic Online Services access token",
		policy: auth.Policy{Issuer: "https://api.epicgames.dev/epic/oauth/v2", Audience: "xyza7891client"},
		header: `{"alg":"RS256","kid":"rs"}`,
		claims: `{"sub":"0a1b2c3d4e5f60718293a4b5c6d7e8f9","aud":"xyza7891client",
			"iss":"https://api.epicgames.dev/epic/oauth/v2",
			"exp":@exp,"iat":@iat,"jti":"j","t":"epic_id","scope":"basic_profile presence","dn":"A","appid":"fghi",
			"mver":false,"pltfm":"other","dcid":"d"}`,
		user: "0a1b2c3d4e5f60718293a4b5c6d7e8f9", scopes: []string{"basic_profile", "presence"},
	},
	{
		name:   "a game's own issuer, after a Steam or PlayFab ticket",
		policy: auth.Policy{Issuer: "game-login", Audience: "scores", ScopeClaims: []string{"roles", "scope"}},
		header: `{"alg":"EdDSA","kid":"ed"}`,
		claims: `{"iss":"game-login","sub":"76561197960287930","aud":["scores"],"iat":@iat.25,"exp":@exp.75,
			"roles":["score:update","score: admin score:admin"],"scope":null,"title":{"playfab":"A1B2"}}`,
		user: "76561197960287930", scopes: []string{"score:update", "score: admin score:admin"},
	},
}

var typeInHeader = regexp.MustCompile(`"typ":"[^"]*",|,"typ":"[^"]*"`)

// sign signs a header and claims as they are written.
func (i *issued) sign(t *testing.T, header, claims string, keys map[string]any) string {
	t.Helper()
	claims = strings.NewReplacer("@iat", "1795262400", "@exp", "1795266000").Replace(claims)
	b64 := base64.RawURLEncoding.EncodeToString
	text := b64([]byte(header)) + "." + b64([]byte(claims))
	for alg, key := range keys {
		if strings.Contains(header, alg) {
			signature, err := jwt.GetSigningMethod(alg).Sign(text, key)
			if err != nil {
				t.Fatal(err)
			}
			return text + "." + b64(signature)
		}
	}
	t.Fatalf("no key for %s", header)
	return ""
}

// Tokens are accepted as the most used identity providers issue them, and only those of
// this server's issuer, audience and clients.
func TestTokensOfProviders(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	rs, es, ed := rsaKey(t, 2048), ecKey(t, elliptic.P256()), edKey(t)
	p.publish("rs", rs)
	p.publish("es", es)
	p.publish("ed", ed)
	signers := map[string]any{"RS256": rs, "ES256": es, "EdDSA": ed}
	var now atomic.Int64
	keys := p.keySet(&now)
	if at := noon.Unix(); at != 1795262400 {
		t.Fatalf("noon is %d", at)
	}
	for _, test := range issuedTokens {
		policy := test.policy
		policy.MaxTTL = 24 * time.Hour
		if policy.UserClaim == "" {
			policy.UserClaim = "sub"
		}
		if policy.ScopeClaims == nil {
			policy.ScopeClaims = []string{"scope", "scp"}
		}
		tokens := auth.NewProviderTokens(keys, policy, func() time.Time { return time.Unix(0, now.Load()) })
		verify := func(header, claims string) (*auth.Claims, error) {
			return tokens.Verify(t.Context(), test.sign(t, header, claims, signers))
		}
		c, err := verify(test.header, test.claims)
		if err != nil || string(c.User) != test.user || !slices.Equal(c.Scopes, test.scopes) {
			t.Errorf("%s: got %+v, %v, want user %s with %q", test.name, c, err, test.user, test.scopes)
			continue
		}
		if c.Has(auth.ScopeAdmin) {
			t.Errorf("%s: it is an administrator's", test.name)
		}
		rejected := func(what, header, claims, reason string) {
			_, err := verify(header, claims)
			var r *auth.Rejection
			if wire.CodeOf(err) != wire.CodeUnauthorized || !errors.As(err, &r) || r.Reason != reason {
				t.Errorf("%s with %s: got %v, want rejected for its %s", test.name, what, err, reason)
			}
		}
		elsewhere := strings.Replace(test.claims, `"`+policy.Issuer+`"`, `"https://elsewhere.example"`, 1)
		rejected("another issuer", test.header, elsewhere, auth.ReasonIssuer)
		rejected("a past exp", test.header, strings.Replace(test.claims, "@exp", "1795262000", 1), auth.ReasonExpired)
		rejected("no exp", test.header, strings.Replace(test.claims, `"exp"`, `"until"`, 1), auth.ReasonTime)
		logout := strings.Replace(typeInHeader.ReplaceAllString(test.header, ""), "{", `{"typ":"logout+jwt",`, 1)
		rejected("the type of a logout", logout, test.claims, auth.ReasonType)
		policy.Audience, policy.ClientIDs = "others", []string{"others"}
		tokens.Configure(policy)
		rejected("another audience", test.header, test.claims, auth.ReasonAudience)
	}
}

// The setting auth.user_claim chooses the user, and an e-mail address counts only if the
// provider has verified it. A provider's id names the token's own user only.
func TestUserClaim(t *testing.T) {
	t.Parallel()
	now := noon
	tokens := auth.NewTokens(jwtSecret, "iss", "aud", clock(&now))
	for _, test := range []struct {
		name, claim string
		claims      jwt.MapClaims
		want        string // "": rejected
	}{
		{"sub", "sub", jwt.MapClaims{"email": "b@example.com", "email_verified": true}, "x:mf2xi2bqpq2q"},
		{"an address", "email", jwt.MapClaims{"email": "b@example.com", "email_verified": true}, "b@example.com"},
		{"Apple's form", "email", jwt.MapClaims{"email": "b@example.com", "email_verified": "true"}, "b@example.com"},
		{"an unverified address", "email", jwt.MapClaims{"email": "b@example.com", "email_verified": false}, ""},
		{"an address without a word", "email", jwt.MapClaims{"email": "b@example.com"}, ""},
		{"no address", "email", jwt.MapClaims{"email_verified": true}, ""},
		{"another claim", "player", jwt.MapClaims{"player": "p 1"}, "x:oaqdc"},
		{"a claim that is a number", "player", jwt.MapClaims{"player": 7}, ""},
		{"a claim in another case", "player", jwt.MapClaims{"Player": "p1"}, ""},
	} {
		tokens.Configure(auth.Policy{Issuer: "iss", Audience: "aud", UserClaim: test.claim})
		claims := jwt.MapClaims{"sub": "auth0|5", "iss": "iss", "aud": "aud", "exp": noon.Add(time.Hour).Unix()}
		maps.Copy(claims, test.claims)
		token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString([]byte(jwtSecret))
		if err != nil {
			t.Fatal(err)
		}
		c, err := tokens.Verify(t.Context(), token)
		if (err == nil) != (test.want != "") || err == nil && string(c.User) != test.want {
			t.Errorf("%s: got %+v, %v, want user %q", test.name, c, err, test.want)
		}
		if test.claim != "sub" || err != nil {
			continue
		}
		for text, valid := range map[string]bool{"auth0|5": true, string(c.User): true, "auth0|6": false, "bob": true} {
			user, err := c.UserID(text)
			if (err == nil) != valid || text != "bob" && valid && user != c.User {
				t.Errorf("%q in a request is %s, %v", text, user, err)
			}
		}
	}
}

// A token without an audience is accepted only from a client that is listed.
func TestTokensWithoutAudience(t *testing.T) {
	t.Parallel()
	now := noon
	tokens := auth.NewTokens(jwtSecret, "iss", "aud", clock(&now))
	tokens.Configure(auth.Policy{Issuer: "iss", Audience: "aud", ClientIDs: []string{"game"}, UserClaim: "sub"})
	for _, test := range []struct {
		name   string
		claims jwt.MapClaims
		want   bool
	}{
		{"a listed client", jwt.MapClaims{"client_id": "game"}, true},
		{"a listed authorised party", jwt.MapClaims{"azp": "game"}, true},
		{"an empty list", jwt.MapClaims{"aud": []string{}, "client_id": "game"}, true},
		{"neither", jwt.MapClaims{}, false},
		{"another client", jwt.MapClaims{"client_id": "other"}, false},
		{"another client with a listed party", jwt.MapClaims{"client_id": "other", "azp": "game"}, false},
		{"an empty client", jwt.MapClaims{"client_id": ""}, false},
		{"clients in a list", jwt.MapClaims{"client_id": []string{"game"}}, false},
		{"another audience, a listed client", jwt.MapClaims{"aud": "else", "client_id": "game"}, false},
		{"an empty audience, a listed client", jwt.MapClaims{"aud": "", "client_id": "game"}, false},
	} {
		claims := jwt.MapClaims{"sub": "alice", "iss": "iss", "exp": noon.Add(time.Hour).Unix()}
		maps.Copy(claims, test.claims)
		token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString([]byte(jwtSecret))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tokens.Verify(t.Context(), token); (err == nil) != test.want {
			t.Errorf("%s: got %v, want accepted: %v", test.name, err, test.want)
		}
	}
}
