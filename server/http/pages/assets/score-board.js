var J=`/* The rows of a board: of the pages, and of the element. */
.quiet {
  block-size: 1px;
  clip-path: inset(50%);
  inline-size: 1px;
  overflow: hidden;
  position: absolute;
  white-space: nowrap;
}
.rows {
  --rank-start: var(--gap-m);
  --row: 3.25rem;
  border-collapse: separate;
  border-spacing: 0;
  font-variant-numeric: tabular-nums lining-nums;
  inline-size: 100%;
  table-layout: fixed;
}
.rows caption.quiet { display: block; }
.rows tbody tr {
  background: var(--raised);
  position: relative;
}
.rows tbody :is(td, th) {
  block-size: var(--row);
  border-block-end: 1px solid var(--border);
  padding: 0 var(--gap-s);
  white-space: nowrap;
}
.rows tbody tr:last-child > * { border-block-end-color: transparent; }
.rows thead th {
  background: var(--raised);
  block-size: 2.25rem;
  border-block-end: 1px solid var(--border);
  color: var(--dim) !important;
  font-size: var(--size-xs) !important;
  font-weight: 550 !important;
  letter-spacing: .01em !important;
  padding: 0 var(--gap-s);
  text-align: start;
}
.rows .rank {
  color: var(--dim);
  font-weight: 600;
  inline-size: 4.25rem;
  padding-inline-start: var(--rank-start);
  text-align: start;
}
.rows tr .rank[data-rank="1"] { color: var(--gold); }
.rows tr .rank[data-rank="2"] { color: var(--silver); }
.rows tr .rank[data-rank="3"] { color: var(--bronze); }
.rows .rank:is([data-rank="1"], [data-rank="2"], [data-rank="3"]) { font-size: 1.15em; font-weight: 700; isolation: isolate; position: relative; }
/* A medal behind the number: rows keep one height, by which they move. */
.rows .rank:is([data-rank="1"], [data-rank="2"], [data-rank="3"])::before {
  background: color-mix(in srgb, currentColor 14%, var(--raised));
  block-size: 1.6em;
  border-radius: 50%;
  box-shadow: inset 0 0 0 1.5px color-mix(in srgb, currentColor 55%, transparent);
  content: "";
  inline-size: 1.6em;
  inset-block-start: calc(50% - .8em);
  inset-inline-start: calc(var(--rank-start) + .32em - .8em);
  position: absolute;
  z-index: -1;
}
.rows .who { overflow: hidden; text-overflow: ellipsis; }
.rows .name {
  display: inline-block;
  font-weight: 550;
  max-inline-size: calc(100% - 10.75rem); /* a long name leaves room for the user id, which nobody else has */
  overflow: hidden;
  text-overflow: ellipsis;
  vertical-align: middle;
}
.rows .name:last-child { max-inline-size: calc(100% - 2.75rem); }
.rows .id { color: var(--dim); font-size: .8125em; margin-inline-start: .375rem; }
.rows .move { font-size: .8125em; font-weight: 600; inline-size: 4rem; text-align: end; }
.rows .up { color: var(--up); }
.rows .down { color: var(--down); }
.rows .move span:first-child { font-size: .75em; margin-inline-end: .2em; }
.rows .score {
  font-weight: 650;
  inline-size: 10rem;
  letter-spacing: -.01em;
  padding-inline-end: var(--gap-m);
  text-align: end;
}
.rows .score data { display: inline-block; }
.rows .tie { color: var(--dim); cursor: help; font-weight: 400; margin-inline-end: .5em; }
.rows .own { background: var(--selected); inset-block: 0; position: sticky; z-index: 2; }
.rows .own .rank { box-shadow: inset .25rem 0 var(--accent); }
.rows .own .rank, .rows .own .id, .rows .own .tie { color: var(--text); }
.badge {
  align-items: center;
  background: color-mix(in srgb, var(--hue) 22%, var(--raised));
  block-size: 2rem;
  border-radius: 50%;
  box-shadow: inset 0 0 0 1px color-mix(in srgb, var(--hue) 40%, transparent);
  color: var(--text);
  display: inline-flex;
  font-size: .8125em;
  font-weight: 650;
  inline-size: 2rem;
  justify-content: center;
  margin-inline-end: .75rem;
  text-transform: uppercase;
  vertical-align: middle;
}
.hue0 { --hue: var(--blue); }
.hue1 { --hue: var(--orange); }
.hue2 { --hue: var(--green); }
.hue3 { --hue: var(--purple); }
.hue4 { --hue: var(--yellow); }
.hue5 { --hue: var(--accent); }
.hue6 { --hue: var(--bad); }
.hue7 { --hue: var(--added); }
/* The width of the box counts, not that of the window: a board in a narrow column keeps its names. */
:where(:host, .reserve, .neighbours) { container-type: inline-size; }
@container (inline-size < 44rem) {
  .rows .move { inline-size: 3rem; }
  .rows .score { inline-size: 9rem; }
  .rows .name { max-inline-size: calc(100% - 7.25rem); }
}
@container (inline-size < 34rem) {
  .rows { --rank-start: .75rem; }
  .rows .rank { inline-size: 3.125rem; padding-inline-end: 0; }
  .rows .who { padding-inline-end: 0; }
  .rows .move { inline-size: 2rem; padding-inline: 0; }
  .rows .score { inline-size: 6.25rem; padding-inline: 0 .75rem; }
  .rows .name, .rows .name:last-child { max-inline-size: 100%; }
  .rows .id { display: block; line-height: 1.2; margin: 0; overflow: hidden; text-overflow: ellipsis; }
  .badge { display: none; }
}
`;var Y=`:host {
  color: var(--text);
  display: block;
  font: var(--size-m)/1.4 var(--sans);
}
:host([hidden]) { display: none; }
.status { color: var(--dim); font-size: var(--size-s); margin: var(--gap-s) 0 0; }
.status:empty { display: none; }
`;var Z=`:host {
  color-scheme: light dark;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace;
  --size-xs: .75rem;
  --size-s: .875rem;
  --size-m: 1rem;
  --size-l: 1.25rem;
  --size-xl: 1.5625rem;
  --size-2xl: 1.953rem;
  --size-3xl: 2.441rem;
  --gap-xs: .25rem;
  --gap-s: .5rem;
  --gap-m: 1rem;
  --gap-l: 1.5rem;
  --gap-xl: 2.5rem;
  --radius-s: .375rem;
  --radius-m: .625rem;
  --radius-l: 1rem;
  --fast: 120ms;
  --slow: 400ms;
  --page: light-dark(#ffffff, #101218);
  --raised: light-dark(#ffffff, #171a22);
  --sunken: light-dark(#f5f6fa, #0b0d12);
  --border: light-dark(#e2e5ee, #2a2e3b);
  --edge: light-dark(#82869c, #6b7189);
  --frame: light-dark(#bcc0cc, #494d64);
  --text: light-dark(#2a2d42, #cdd6f4);
  --dim: light-dark(#5f6379, #9298b3);
  --accent: light-dark(#1e5fd8, #8aadf4);
  --on-accent: light-dark(#ffffff, #101218);
  --selected: light-dark(#dfe3ee, #363a4f);
  --good: light-dark(#2a7030, #a6da95);
  --warn: light-dark(#8a5700, #eed49f);
  --bad: light-dark(#b8203a, #ed8796);
  --good-soft: light-dark(#e8f5e9, #1b2a1f);
  --warn-soft: light-dark(#fff4dc, #2e2717);
  --bad-soft: light-dark(#fdecef, #331c22);
  --gold: light-dark(#8a5700, #eed49f);
  --silver: light-dark(#5c5f77, #b8c0e0);
  --bronze: light-dark(#a04a1c, #e0a37e);
  --up: light-dark(#2a7030, #a6da95);
  --down: light-dark(#b8203a, #ed8796);
  --added: light-dark(#0b6d74, #8bd5ca);
  --changed: light-dark(#b83d0a, #f5a97f);
  --bar-from: light-dark(#b3c7f0, #3e5a8c);
  --bar-to: light-dark(#1e66c8, #7dc4e4);
  --blue: light-dark(#0072b2, #56b4e9);
  --orange: light-dark(#d55e00, #f08b3c);
  --green: light-dark(#00845f, #2fc79a);
  --purple: light-dark(#7a3fc4, #c6a0f6);
  --yellow: light-dark(#8f7400, #f0d05c);
  --grey: light-dark(#6b6f75, #9aa0a6);
  --shadow: light-dark(#1b2140, #000000);
  --chip-text: light-dark(#1e2030, #1e2030);
  --chip-backdrop: light-dark(#eed49f, #eed49f);
}
:host([data-theme=light]) { color-scheme: light; }
:host([data-theme=dark]) { color-scheme: dark; }
`;function ee(o){let e=globalThis,t=o;if(t.server===void 0){let i=e.process?.env??{};t={server:i.SBCTL_SERVER,token:i.SBCTL_TOKEN,keyId:i.SBCTL_KEY_ID,keySecret:i.SBCTL_KEY_SECRET,...o}}let{server:n,keyId:r="",keySecret:s=""}=t;if(!n)throw new TypeError("no server: pass { server } or set SBCTL_SERVER");if(!r!=!s)throw new TypeError("a signing key requires both keyId and keySecret");return{server:Ee(n),token:t.token??"",keyId:r,keySecret:s,attempts:t.attempts||5,timeout:t.timeout||1e4,fetch:t.fetch??((i,a)=>fetch(i,a)),webSocket:t.webSocket??e.WebSocket??!1,userAgent:e.process?.versions?.node?"scoreboard-typescript/1.0.0":""}}function Ee(o){let e=URL.canParse(o)?new URL(o):void 0;if(!e||!/^https?:$/.test(e.protocol))throw new TypeError(`invalid server address "${o}": must be of the form https://host:port`);return e.origin+e.pathname.replace(/\/$/,"")}function x(o){return Array.isArray(o)?o.map(x):typeof o!="object"||o===null?o:Object.fromEntries(Object.entries(o).map(([e,t])=>[e.replace(/_([a-z])/g,(n,r)=>r.toUpperCase()),e==="reward"||e==="metadata"?t:x(t)]))}var te="Send a request that /openapi.json describes.",re={invalid_request:"Correct the request; sent again unchanged, it fails again.",unauthorized:"Get a new token.",invalid_signature:"Check the clock, the key id and the secret.",forbidden:"Use the user's own token, or one with a wider scope.",not_found:"Check the id and the name of the board.",method_not_allowed:te,unsupported_media_type:te,event_conflict:"Use a new event id; this one belongs to another increment.",board_closed:"Write to an open board; this one accepts no more scores.",token_used:"Get a new token; this one was used.",attempts_used:"Wait for the next period; all attempts of this one are used.",period_ended:"Read the board; the increment was for a period that is not the current one.",not_joined:"Join the period first; the board counts only those who have.",join_closed:"Join the next period; this one takes no players in or out any more.",tournament_full:"Join another period, or try again before the start; a player may leave.",conflict:"Read the current state, then decide again.",not_settled:"Wait as long as the server asks, then read it again.",gone:"Do not send it again; what it names no longer exists.",payload_too_large:"Send less in one request.",delta_out_of_range:"Send a delta within the limits.",score_out_of_range:"Keep the score within the board's limits.",rule_violated:"Follow the board's rules, such as starting an action first.",rate_limited:"Wait as long as the server asks, then send it again with the same event id."},f=class extends Error{code;status;field;reason;eventId;requestId;retryAfter;wouldRank;nextReset;attempts=1;constructor(e){super(e.message,{cause:e.cause}),this.name="ScoreboardError",this.code=e.code,this.status=e.status??0,this.field=e.field??"",this.reason=e.reason??"",this.eventId=e.eventId??"",this.requestId=e.requestId??"",this.retryAfter=e.retryAfter??0,this.wouldRank=e.wouldRank??0,this.nextReset=e.nextReset??""}get temporary(){return/^(rate_limited|overloaded|unavailable|internal)$/.test(this.code)||this.status>=500}get nextStep(){return(Object.hasOwn(re,this.code)?re[this.code]:"")||(this.temporary?"Send it again later, with the same event id.":"")}};function v(o,e){return new f({code:"unavailable",message:o,cause:e})}function y(o){let e=o.reason,t=v("the call was aborted",e);return t.name=e instanceof Error||e instanceof DOMException?e.name:"AbortError",t}function k(o,e){return e instanceof f?e:v(`${o}: ${e instanceof Error?e.message:String(e)}`,e)}function M(o,e,t){let n={status:o,requestId:e.get("X-Request-Id")??"",retryAfter:Ce(e.get("Retry-After")??"")},r=Te(t);return r?.error_code?new f({...n,code:r.error_code,message:r.message??r.error_code,field:r.field,reason:r.reason,eventId:r.event_id,wouldRank:r.would_rank,nextReset:r.next_reset,requestId:r.request_id||n.requestId}):new f({...n,code:Re(o),message:`unexpected response ${o}, not from this API`})}function Te(o){try{return JSON.parse(o)}catch{return null}}var Ae={401:"unauthorized",403:"forbidden",404:"not_found",429:"rate_limited",502:"unavailable",503:"unavailable",504:"unavailable"};function Re(o){return Ae[o]??(o<500?"invalid_request":"internal")}var _e=24*3600*1e3;function Ce(o){let e=/^[+-]?\d+$/.test(o)?Number(o)*1e3:Date.parse(o)-Date.now();return Math.min(Math.max(e||0,0),_e)}async function I(o){if(!o.body)return"";let e=new TextDecoder,t="",n=0,r=o.body.getReader();for(;;){let{done:s,value:i}=await r.read();if(s)return t+e.decode();if((n+=i.byteLength)>4194304)throw r.cancel(),new Error("a response of over 4194304 bytes");t+=e.decode(i,{stream:!0})}}function K(o){return Array.from(o,e=>e.toString(16).padStart(2,"0")).join("")}var U=new TextEncoder;async function oe(o,e){let t={name:"HMAC",hash:"SHA-256"},n=await crypto.subtle.importKey("raw",U.encode(o),t,!1,["sign"]);return K(new Uint8Array(await crypto.subtle.sign("HMAC",n,U.encode(e))))}async function ne(o,e,t,n,r){let s=await crypto.subtle.digest("SHA-256",U.encode(r));return[o,e,t,n,K(new Uint8Array(s))].join(`
`)}function se(o,e){return new Promise((t,n)=>{let r=()=>n(e.reason);e.addEventListener("abort",r,{once:!0}),e.aborted&&r(),Promise.resolve(o).then(t,n).finally(()=>e.removeEventListener("abort",r))})}function A(o,e=200,t=5e3){return Math.random()*Math.min(e*2**o,t)}function R(o,e){return new Promise((t,n)=>{if(e?.aborted)return n(y(e));let r=()=>{clearTimeout(s),n(y(e))},s=setTimeout(()=>{e?.removeEventListener("abort",r),t()},o);e?.addEventListener("abort",r,{once:!0})})}var Me=3e4,z=class{constructor(e){this.settings=e}settings;async send(e,t){for(let n=1;;n++)try{return await this.try(e,t)}catch(r){if(!(r instanceof f)||(Object.assign(r,{attempts:n,eventId:r.eventId||e.eventId||""}),n>=this.settings.attempts||!r.temporary||t?.aborted||r.retryAfter>Me))throw r;await R(r.retryAfter+A(n-1),t).catch(s=>{throw Object.assign(s,{attempts:n,eventId:e.eventId??""})})}}async try(e,t){if(t?.aborted)throw y(t);let n=e.body&&JSON.stringify(await e.body()),r=new AbortController,s=()=>r.abort(),i=setTimeout(s,this.settings.timeout);t?.addEventListener("abort",s,{once:!0});try{let a=this.url(e.path,e.query),d=await this.headers(r.signal,{Accept:"application/json",...e.headers});n!==void 0&&(d["Content-Type"]="application/json"),e.sign&&Object.assign(d,await this.#t(e.method,e.path+a.search,n??""));let l=await this.settings.fetch(a,{method:e.method,headers:d,body:n,signal:r.signal,redirect:"manual"}),m=await I(l);if(!l.ok)throw M(l.status||302,l.headers,m);return x(JSON.parse(m))}catch(a){throw t?.aborted?y(t):r.signal.aborted?v(`no response within ${this.settings.timeout} ms`,a):k(`${e.method} ${e.path}`,a)}finally{clearTimeout(i),t?.removeEventListener("abort",s)}}async headers(e,t){let{token:n,userAgent:r}=this.settings,s={...t};r&&(s["User-Agent"]=r);let i=typeof n=="function"?await se(n(e),e):n;return i&&(s.Authorization=`Bearer ${i}`),s}url(e,t={}){let n=new URL(this.settings.server+e);for(let[r,s]of Object.entries(t))s!==void 0&&s!==""&&n.searchParams.set(r,String(s));return n}async#t(e,t,n){let{keyId:r,keySecret:s}=this.settings;if(!r)return{};let i=String(Math.floor(Date.now()/1e3)),a=await ne(e,t,r,i,n);return{"X-Scoreboard-Key":r,"X-Scoreboard-Timestamp":i,"X-Scoreboard-Signature":"v1="+await oe(s,a)}}};function O(o){if(o==="."||o==="..")throw new f({code:"invalid_request",message:`the id "${o}" cannot be sent in a path`});return encodeURIComponent(o)}var P=class{#t;#e=!1;#r;#o;put(e){this.#t={value:e},this.#o?.()}end(e){this.#e=!0,this.#r=e,this.#o?.()}async*read(){for(;;){let e=this.#t;if(this.#t=void 0,e)yield e.value;else if(this.#e){if(this.#r!==void 0)throw this.#r;return}else await new Promise(t=>this.#o=t)}}};function ie(o){return{stream:"/v1/realtime/leaderboard",top:"/v1/leaderboard/top",query:{board:o}}}var E=1<<20,_=75e3;function L({routes:o,query:e,board:t}){return{...o.query,limit:e.limit,delta:1,last_event_id:t.resume}}function $(o){return x(JSON.parse(o))}var S=class{constructor(e){this.silent=e;this.reset()}silent;#t;reset(){this.stop(),this.#t=setTimeout(()=>{this.silent(new Error(`no message from the server for ${_/1e3} s`))},_)}stop(){clearTimeout(this.#t)}};async function ae(o,e){let t=new AbortController,n=()=>t.abort(y(e));e.addEventListener("abort",n,{once:!0});let r=new S(s=>t.abort(s));try{let{transport:s}=o,i=await s.settings.fetch(s.url(o.routes.stream,L(o)),{headers:await s.headers(t.signal,{Accept:"text/event-stream"}),signal:t.signal,redirect:"manual",cache:"no-store"}),a=i.headers.get("Content-Type")??"";throw i.status!==200||!a.startsWith("text/event-stream")||!i.body?M(i.status||302,i.headers,await I(i)):(await Ie(o,i.body,r),new Error("the stream ended"))}catch(s){throw k("follow the events",t.signal.aborted?t.signal.reason:s)}finally{r.stop(),t.abort(),e.removeEventListener("abort",n)}}async function Ie(o,e,t){let n=new TextDecoder,r=e.getReader(),s="",i="";for(;;){let{done:a,value:d}=await r.read();if(a)return;t.reset();let l=(s+n.decode(d,{stream:!0})).split(/\r?\n/);s=l.pop()??"";for(let m of l)if(m.startsWith(":"))o.heartbeat("sse");else if(m.startsWith("data:"))i+=m.slice(5)+`
`;else if(m===""&&i){let T=$(i);i="",o.frame("sse",T)}if(s.length+i.length>E)throw new Error(`an event of over ${E} characters`)}}var q=class{state;#t=!1;#e;#r={version:0,epoch:0};#o={version:0,epoch:0};constructor(e){this.state={board:e,top:[],epoch:0,version:0,updatedAt:"",connection:"disconnected",reconnects:0,degraded:""}}get resume(){let{epoch:e,version:t,degraded:n}=this.state;return this.#t&&!n?`${e}:${t}`:""}snapshot(e,t,n){let{state:r}=this;(e<r.epoch?!this.#n({...n,epoch:e,version:t}):e===r.epoch&&t<r.version)||(this.#e=void 0,this.#t=!0,this.show({...n,epoch:e,version:t}))}show(e){this.state={...this.state,...e}}delta(e){let{state:t}=this,n=this.#e,{epoch:r=0,version:s=0}=e;return r<t.epoch?(n?.epoch===r&&n.version===e.base&&!n.degraded&&this.snapshot(r,s,ce(n,e)),!0):r===t.epoch&&(s<t.version||s===t.version&&!t.degraded)?!0:!this.#t||t.degraded||r!==t.epoch||e.base!==t.version?(this.#t=!1,!1):(this.snapshot(r,s,ce(t,e)),!0)}confirm(){this.#e&&this.snapshot(this.#e.epoch,this.#e.version,this.#e)}move(e){if(!de(this.#r,e))return;let t={userId:e.userId??"",score:e.score??0,rank:e.rank??0,previousRank:e.previousRank??0};this.state={...this.state,me:t}}tier(e){if(!de(this.#o,e))return;let t={userId:e.userId??"",tier:e.tier??"",previousTier:e.previousTier??""};this.state={...this.state,tier:t}}#n({board:e,top:t,updatedAt:n,degraded:r,epoch:s,version:i}){let a=this.#e?.since??Date.now();return this.#e={board:e,top:t,updatedAt:n,degraded:r,epoch:s,version:i,since:a},Date.now()-a<5e3?!1:(this.#r={version:0,epoch:0},this.#o={version:0,epoch:0},!0)}};function de(o,{version:e=0,epoch:t=0}){return e<o.version&&t<=o.epoch?!1:(Object.assign(o,{version:e,epoch:t}),!0)}function ce(o,e){let t=new Set([...e.removed??[],...(e.changed??[]).map(r=>r.userId)]),n=[...o.top.filter(r=>!t.has(r.userId)),...e.changed??[]];return n.sort((r,s)=>r.rank-s.rank),{board:e.board??o.board,top:n,updatedAt:e.ts??"",degraded:""}}async function F(o,e){let{transport:t}=o,{settings:n}=t,r=L(o);if(n.token){let a=await t.try({method:"GET",path:"/v1/realtime/token",query:{board:o.query.board}},e);r.token=a.token}let s=t.url(o.routes.stream,r);s.protocol=s.protocol.replace("http","ws");let i=new n.webSocket(s.href);await new Promise((a,d)=>{let l=()=>b(y(e)),m=new S(w=>b(k("read the stream",w))),T=setInterval(()=>{if(!(Date.now()-h<_/3||!g))for(let w of["unsubscribe","subscribe"])i.send(JSON.stringify({type:w,board:o.query.board||"global"}))},_/3),u=setTimeout(()=>{b(v(`no WebSocket within ${n.timeout} ms`))},n.timeout),h=Date.now(),g=!1,b=w=>{m.stop(),clearInterval(T),clearTimeout(u),e.removeEventListener("abort",l),i.onmessage=i.onclose=i.onopen=null,i.onerror=()=>{},i.close(),d(w)};e.addEventListener("abort",l,{once:!0}),e.aborted&&l(),i.onopen=()=>{g=!0,clearTimeout(u)},i.onmessage=({data:w})=>{m.reset(),h=Date.now();try{let p=String(w);if(p.length>E)throw new Error(`a message of over ${E} characters`);o.frame("ws",$(p))}catch(p){b(k("read the stream",p))}},i.onerror=()=>{},i.onclose=({code:w,reason:p})=>b(Oe(w,p))})}var ze={4401:[401,"unauthorized"],4403:[403,"forbidden"],4429:[429,"rate_limited"]};function Oe(o,e){let t=`the WebSocket was closed: ${o} ${e}`,n=ze[o];return n?new f({status:n[0],code:n[1],message:t}):v(t)}var X=1e3,he=3e3,V=5e3,Pe=6e4,Le=3e4;var j=class{constructor(e,t,n=ie(t.board)){this.transport=e;this.query=t;this.routes=n;this.board=new q(t.board||"global")}transport;query;routes;states=new P;board;received=!1;#t=!1;#e;#r;#o=-1/0;async run(e){try{await this.#n(e)}catch(t){this.states.end(e.aborted?void 0:t)}}async#n(e){let t=V;for(let n=0;;n++){await this.#a(e),e.throwIfAborted(),this.board.state.connection!=="polling"&&this.#h(this.#e);let{received:r}=this;r&&(n=0,t=V);let s=this.#r??A(n);this.#r=void 0,await R(s,e),!r&&(await this.#d(e,t),t=Math.min(2*t,Pe))}}async#a(e){this.received=!1,this.#e=void 0;for(let t of[F,ae]){if(this.received||e.aborted)return;t===F&&!this.transport.settings.webSocket||await t(this,e).catch(n=>this.#e??=n)}}frame(e,t){switch(t.type){case"leaderboard.updated":this.#i(e),this.board.snapshot(t.epoch??0,t.version??0,{board:t.board??"",top:t.top??[],updatedAt:t.ts??"",degraded:le(t)});break;case"leaderboard.delta":this.#i(e),this.board.delta(t)||this.#s();break;case"user.rank.updated":this.#i(e),this.board.move(t);break;case"user.tier.updated":this.#i(e),this.board.tier(t);break;case"error":throw new f({code:t.errorCode??"",status:qe(t.errorCode),message:t.message??""});case"bye":throw this.#r=Math.min(Math.max(t.reconnectAfterMs??0,200),Le),new Error(`the server is closing the connection: ${t.reason??""}`);default:this.received=!0;return}this.received=!0,this.states.put(this.board.state)}heartbeat(e){this.received=!0,this.#i(e),this.board.confirm(),this.states.put(this.board.state)}#s(){throw Date.now()-this.#o>V&&(this.#r=0),this.#o=Date.now(),this.received=!0,new Error("a delta for rows other than those received")}async#d(e,t){let n=Date.now()+t;for(let r=0;;){let s=X+Math.random()*(he-X);try{if(await this.#c(e),r>0)return}catch(i){let a=i;if(e.aborted||/^40[134]$/.test(String(a.status)))throw a;this.#h(a),s=Math.max(A(r++,X,he),a.retryAfter)}if(r===0&&Date.now()+s>n)return;await R(s,e)}}async#c(e){let{top:t,query:n}=this.routes,r=await this.transport.try({method:"GET",path:t,query:{...n,limit:this.query.limit}},e);this.#i("polling");let s={board:r.board,top:r.entries,updatedAt:r.updatedAt,degraded:le(r)};r.epoch===null||r.version===null?this.board.show(s):this.board.snapshot(r.epoch,r.version,s),this.states.put(this.board.state)}#i(e){let{state:t}=this.board,n=t.connection==="disconnected"&&this.#t;this.#t=!0,this.board.state={...t,connection:e,heardAt:new Date,reconnects:t.reconnects+Number(n),error:e==="polling"?this.#e:void 0}}#h(e){this.board.state={...this.board.state,connection:"disconnected",error:e},this.states.put(this.board.state)}};function le(o){return o.degradedReason?o.degradedReason:o.degraded?"unknown":o.boardState&&o.boardState!=="HEALTHY"?o.boardState.toLowerCase():""}var $e={unauthorized:401,token_used:401,forbidden:403,not_found:404,rate_limited:429,unavailable:503,overloaded:503};function qe(o=""){return $e[o]??400}var W=class{constructor(e,t,n=""){this.query=t;this.transport=new z(ee({server:e,token:n,webSocket:!1})),this.path=`/b/${O(t.board)}`}query;transport;path;top(){return this.transport.try({method:"GET",path:`${this.path}/top`,query:{limit:this.query.limit}})}player(e){return this.transport.try({method:"GET",path:`${this.path}/players/${O(e)}`})}follow(e,t){let n=new AbortController,r=new j(this.transport,this.query,{stream:`/v1/realtime/pages/${O(this.query.board)}`,top:`${this.path}/top`,query:{}});return(async()=>{r.run(n.signal);try{for await(let i of r.states.read())n.signal.aborted||e(i)}catch(i){n.signal.aborted||t(i)}})(),()=>n.abort()}};function me(o){return new URL("..",o).href}function pe(o){return o===""?"":o==="rebuilding"?"The ranking is being rebuilt. These rows come from the database.":"These ranks may be out of date."}var ue=new Intl.RelativeTimeFormat(void 0,{numeric:"auto"}),je=35;function fe(o,e){let t=Math.max(0,Math.round((Date.now()-o.getTime())/1e3));return e==="sse"&&t<je?"":t<120?ue.format(-t,"second"):ue.format(-Math.round(t/60),"minute")}var We=new Intl.NumberFormat;function B(o){return We.format(o)}function c(o,e="",t=""){let n=document.createElement(o);return e&&(n.className=e),t&&(n.textContent=t),n}function Ne(o){let e=0;for(let t=0;t<o.length;t++)e=(e*31+o.charCodeAt(t))%9973;return e%8}var N=class{tr;#t;#e=!1;#r=0;#o;#n;#a;#s;#d;constructor(e){if(!e){e=c("tr");let t=c("th","rank");t.scope="row",e.append(t,c("td","who"),c("td","move"),c("td","score"))}this.tr=e,[this.#n,this.#a,this.#s,this.#d]=[...e.children]}show(e,t,n){let{tr:r}=this,s=this.#t,{rank:i,userId:a,score:d,displayName:l}=e;return this.#t=e,r.classList.contains("own")!==n&&(r.classList.toggle("own",n),n?r.ariaCurrent="true":r.removeAttribute("aria-current")),s?.rank!==i&&(this.#n.textContent=B(i),this.#n.setAttribute("data-rank",String(i))),(!s||s.displayName!==l)&&this.#c(a,l),(s?.score!==d||this.#e!==t)&&this.#i(d,t),this.#e=t,s!==void 0&&s.score!==d}moved(e){if(e+=this.#r,this.#r=e,clearTimeout(this.#o),e===0)return this.#s.replaceChildren();let t=c("span","",e>0?"▲":"▼");t.ariaHidden="true",this.#s.className=e>0?"move up":"move down",this.#s.replaceChildren(t,c("span","quiet",e>0?"up ":"down "),B(Math.abs(e))),this.#o=setTimeout(()=>{this.#r=0,this.#s.replaceChildren()},6e3)}#c(e,t){let n=t||e,r=c("span",`badge hue${Ne(e)}`,String.fromCodePoint(n.codePointAt(0)??32));r.ariaHidden="true";let s=c("bdi","name",n);s.dir="auto",this.tr.dataset.user=e,this.#a.replaceChildren(r,s),n!==e&&this.#a.append(" ",c("bdi","id",e))}#i(e,t){let n=c("data","",B(e));if(n.value=String(e),this.#d.replaceChildren(n),!t)return;let r=c("span","tie"),s=c("span","","=");r.title="Tied: the player who reached the score first is ahead",s.ariaHidden="true",r.append(s,c("span","quiet"," tied ")),this.#d.prepend(r)}},D=class{constructor(e,t=[]){this.body=e;this.below=t;for(let n of e.rows){let r=n.dataset.user??"";this.#t.set(r,new N(n)),this.#e.set(r,Number(n.firstElementChild?.getAttribute("data-rank")))}}body;below;#t=new Map;#e=new Map;#r=[];#o;#n=matchMedia("(prefers-reduced-motion: reduce)");shown=()=>{};show(e,t=""){let n=this.#o;this.#o={entries:e,own:t},!n&&Promise.allSettled(this.#r.map(r=>r.finished)).then(ge).then(ge).then(()=>{let r=this.#o;this.#o=void 0,this.#r=[],this.#a(r.entries,r.own)})}#a(e,t){let{body:n}=this,r=!this.#n.matches&&document.visibilityState==="visible"&&n.rows.length>0,s=new Map;r&&[...n.rows].forEach((u,h)=>s.set(u.dataset.user??"",h));let i=r&&n.rows.length!==e.length,{top:a,height:d}=r?n.rows[0].getBoundingClientRect():{top:0,height:0},l=i?this.below.map(u=>u.getBoundingClientRect().top):[],m=u=>{let h=a+u*d;return h>-d&&h<innerHeight},T=new Set(e.map(u=>u.userId));for(let[u,h]of this.#t)T.has(u)||(h.tr.remove(),this.#t.delete(u),this.#e.delete(u));e.forEach((u,h)=>{let{userId:g,rank:b,score:w}=u,p=this.#t.get(g)??new N,ye=e[h-1]?.score===w||e[h+1]?.score===w,ve=p.show(u,ye,g===t);n.rows[h]!==p.tr&&n.insertBefore(p.tr,n.rows[h]??null);let H=this.#e.get(g);H!==void 0&&H!==b&&p.moved(H-b),this.#t.set(g,p),this.#e.set(g,b);let C=s.get(g);!r||!m(h)&&!m(C??h)||(C===void 0?this.#r.push(...Q(p.tr,d,!0)):C!==h&&this.#r.push(...Q(p.tr,(C-h)*d,!1)),ve&&De(p.tr.querySelector("data")))}),l.forEach((u,h)=>{let g=this.below[h],b=u-g.getBoundingClientRect().top;b&&this.#r.push(...Q(g,b,!1))}),this.shown(e)}};function ge(){return new Promise(requestAnimationFrame)}function Q(o,e,t){let n={duration:300,easing:"cubic-bezier(.2, 0, 0, 1)"},r=o.animate([{transform:`translateY(${e}px)`},{transform:"translateY(0)"}],n);return t?[r,o.animate([{opacity:0},{opacity:1}],n)]:e<=0?[r]:[r,o.animate([{zIndex:1},{zIndex:1}],n)]}function De(o){o.animate([{transform:"scale(1.08)"},{transform:"none"}],{duration:300,easing:"ease-out"})}var be=me(import.meta.url),we=new CSSStyleSheet;we.replaceSync(Z+J+Y);var G=class extends HTMLElement{static observedAttributes=["board","limit","player"];#t=c("table","rows");#e=c("p","status");#r;#o;#n;#a;constructor(){super();let e=this.attachShadow({mode:"open"});e.adoptedStyleSheets=[we],this.#t.setAttribute("part","table"),this.#e.setAttribute("part","status"),e.append(this.#t,this.#e)}connectedCallback(){this.#d()}disconnectedCallback(){this.#s()}attributeChangedCallback(){this.#d()}#s(){this.#o?.(),this.#o=void 0,clearInterval(this.#a)}#d(){if(this.#s(),!this.isConnected)return;let e=this.getAttribute("limit")==="100"?100:10,t=this.getAttribute("board")||"global",n=c("caption","quiet",`Top ${e} of ${t}`),r=c("thead"),s=c("tr");for(let[d,l]of[["rank","Rank"],["who","Player"],["move",""],["score","Score"]]){let m=c("th",d,l);m.scope="col",l||m.append(c("span","quiet","Change")),s.append(m)}r.append(s);let i=c("tbody");this.#t.replaceChildren(n,r,i),this.#r=new D(i),this.#n=void 0,this.#e.textContent="Connecting …";let a=new W(be,{board:t,limit:e});this.#o=a.follow(d=>this.#c(d),d=>{this.#s(),this.#e.textContent=d instanceof Error?d.message:String(d)}),this.#a=setInterval(()=>this.#i(),1e3)}#c(e){this.#n=e,e.heardAt&&this.#r?.show(e.top,this.getAttribute("player")??""),this.#i()}#i(){let e=this.#n;if(!e)return;let t=pe(e.degraded)||(e.connection==="disconnected"?this.#h(e):"");this.#e.textContent!==t&&(this.#e.textContent=t)}#h(e){return e.heardAt?`Reconnecting … ${fe(e.heardAt,e.connection)}`:`No connection to ${new URL(be).host}: it is unavailable, or its setting web.origins does not list `+location.origin}};customElements.get("score-board")||customElements.define("score-board",G);
