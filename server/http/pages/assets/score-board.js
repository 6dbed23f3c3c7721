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
  padding-inline-start: var(--gap-m);
  text-align: start;
}
.rows .rank[data-rank="1"] { color: var(--gold); }
.rows .rank[data-rank="2"] { color: var(--silver); }
.rows .rank[data-rank="3"] { color: var(--bronze); }
.rows .rank:is([data-rank="1"], [data-rank="2"], [data-rank="3"]) { font-size: 1.15em; font-weight: 700; }
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
@container (inline-size < 34rem) {
  .rows .rank { inline-size: 3.125rem; padding-inline: .75rem 0; }
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
`;function ee(n){let e=globalThis,t=n;if(t.server===void 0){let i=e.process?.env??{};t={server:i.SBCTL_SERVER,token:i.SBCTL_TOKEN,keyId:i.SBCTL_KEY_ID,keySecret:i.SBCTL_KEY_SECRET,...n}}let{server:o,keyId:r="",keySecret:s=""}=t;if(!o)throw new TypeError("no server: pass { server } or set SBCTL_SERVER");if(!r!=!s)throw new TypeError("a signing key requires both keyId and keySecret");return{server:Se(o),token:t.token??"",keyId:r,keySecret:s,attempts:t.attempts||5,timeout:t.timeout||1e4,fetch:t.fetch??((i,a)=>fetch(i,a)),webSocket:t.webSocket??e.WebSocket??!1,userAgent:e.process?.versions?.node?"scoreboard-typescript":""}}function Se(n){let e=URL.canParse(n)?new URL(n):void 0;if(!e||!/^https?:$/.test(e.protocol))throw new TypeError(`invalid server address "${n}": must be of the form https://host:port`);return e.origin+e.pathname.replace(/\/$/,"")}function x(n){return Array.isArray(n)?n.map(x):typeof n!="object"||n===null?n:Object.fromEntries(Object.entries(n).map(([e,t])=>[e.replace(/_([a-z])/g,(o,r)=>r.toUpperCase()),e==="reward"||e==="metadata"?t:x(t)]))}var te="Send a request that /openapi.json describes.",re={invalid_request:"Correct the request; sent again unchanged, it fails again.",unauthorized:"Get a new token.",invalid_signature:"Check the clock, the key id and the secret.",forbidden:"Use the user's own token, or one with a wider scope.",not_found:"Check the id and the name of the board.",method_not_allowed:te,unsupported_media_type:te,event_conflict:"Use a new event id; this one belongs to another increment.",board_closed:"Write to an open board; this one accepts no more scores.",token_used:"Get a new token; this one was used.",attempts_used:"Wait for the next period; all attempts of this one are used.",period_ended:"Read the board; the increment was for a period that is not the current one.",not_joined:"Join the period first; the board counts only those who have.",join_closed:"Join the next period; this one takes no players in or out any more.",tournament_full:"Join another period, or try again before the start; a player may leave.",conflict:"Read the current state, then decide again.",not_settled:"Wait as long as the server asks, then read it again.",gone:"Do not send it again; what it names no longer exists.",payload_too_large:"Send less in one request.",delta_out_of_range:"Send a delta within the limits.",score_out_of_range:"Keep the score within the board's limits.",rule_violated:"Follow the board's rules, such as starting an action first.",rate_limited:"Wait as long as the server asks, then send it again with the same event id."},f=class extends Error{code;status;field;reason;eventId;requestId;retryAfter;wouldRank;nextReset;attempts=1;constructor(e){super(e.message,{cause:e.cause}),this.name="ScoreboardError",this.code=e.code,this.status=e.status??0,this.field=e.field??"",this.reason=e.reason??"",this.eventId=e.eventId??"",this.requestId=e.requestId??"",this.retryAfter=e.retryAfter??0,this.wouldRank=e.wouldRank??0,this.nextReset=e.nextReset??""}get temporary(){return/^(rate_limited|overloaded|unavailable|internal)$/.test(this.code)||this.status>=500}get nextStep(){return(Object.hasOwn(re,this.code)?re[this.code]:"")||(this.temporary?"Send it again later, with the same event id.":"")}};function v(n,e){return new f({code:"unavailable",message:n,cause:e})}function y(n){let e=n.reason,t=v("the call was aborted",e);return t.name=e instanceof Error||e instanceof DOMException?e.name:"AbortError",t}function k(n,e){return e instanceof f?e:v(`${n}: ${e instanceof Error?e.message:String(e)}`,e)}function M(n,e,t){let o={status:n,requestId:e.get("X-Request-Id")??"",retryAfter:_e(e.get("Retry-After")??"")},r=Ee(t);return r?.error_code?new f({...o,code:r.error_code,message:r.message??r.error_code,field:r.field,reason:r.reason,eventId:r.event_id,wouldRank:r.would_rank,nextReset:r.next_reset,requestId:r.request_id||o.requestId}):new f({...o,code:Ae(n),message:`unexpected response ${n}, not from this API`})}function Ee(n){try{return JSON.parse(n)}catch{return null}}var Te={401:"unauthorized",403:"forbidden",404:"not_found",429:"rate_limited",502:"unavailable",503:"unavailable",504:"unavailable"};function Ae(n){return Te[n]??(n<500?"invalid_request":"internal")}var Re=24*3600*1e3;function _e(n){let e=/^[+-]?\d+$/.test(n)?Number(n)*1e3:Date.parse(n)-Date.now();return Math.min(Math.max(e||0,0),Re)}async function I(n){if(!n.body)return"";let e=new TextDecoder,t="",o=0,r=n.body.getReader();for(;;){let{done:s,value:i}=await r.read();if(s)return t+e.decode();if((o+=i.byteLength)>4194304)throw r.cancel(),new Error("a response of over 4194304 bytes");t+=e.decode(i,{stream:!0})}}function K(n){return Array.from(n,e=>e.toString(16).padStart(2,"0")).join("")}var U=new TextEncoder;async function oe(n,e){let t={name:"HMAC",hash:"SHA-256"},o=await crypto.subtle.importKey("raw",U.encode(n),t,!1,["sign"]);return K(new Uint8Array(await crypto.subtle.sign("HMAC",o,U.encode(e))))}async function ne(n,e,t,o,r){let s=await crypto.subtle.digest("SHA-256",U.encode(r));return[n,e,t,o,K(new Uint8Array(s))].join(`
`)}function se(n,e){return new Promise((t,o)=>{let r=()=>o(e.reason);e.addEventListener("abort",r,{once:!0}),e.aborted&&r(),Promise.resolve(n).then(t,o).finally(()=>e.removeEventListener("abort",r))})}function A(n,e=200,t=5e3){return Math.random()*Math.min(e*2**n,t)}function R(n,e){return new Promise((t,o)=>{if(e?.aborted)return o(y(e));let r=()=>{clearTimeout(s),o(y(e))},s=setTimeout(()=>{e?.removeEventListener("abort",r),t()},n);e?.addEventListener("abort",r,{once:!0})})}var Ce=3e4,O=class{constructor(e){this.settings=e}settings;async send(e,t){for(let o=1;;o++)try{return await this.try(e,t)}catch(r){if(!(r instanceof f)||(Object.assign(r,{attempts:o,eventId:r.eventId||e.eventId||""}),o>=this.settings.attempts||!r.temporary||t?.aborted||r.retryAfter>Ce))throw r;await R(r.retryAfter+A(o-1),t).catch(s=>{throw Object.assign(s,{attempts:o,eventId:e.eventId??""})})}}async try(e,t){if(t?.aborted)throw y(t);let o=e.body&&JSON.stringify(await e.body()),r=new AbortController,s=()=>r.abort(),i=setTimeout(s,this.settings.timeout);t?.addEventListener("abort",s,{once:!0});try{let a=this.url(e.path,e.query),d=await this.headers(r.signal,{Accept:"application/json",...e.headers});o!==void 0&&(d["Content-Type"]="application/json"),e.sign&&Object.assign(d,await this.#t(e.method,e.path+a.search,o??""));let l=await this.settings.fetch(a,{method:e.method,headers:d,body:o,signal:r.signal,redirect:"manual"}),m=await I(l);if(!l.ok)throw M(l.status||302,l.headers,m);return x(JSON.parse(m))}catch(a){throw t?.aborted?y(t):r.signal.aborted?v(`no response within ${this.settings.timeout} ms`,a):k(`${e.method} ${e.path}`,a)}finally{clearTimeout(i),t?.removeEventListener("abort",s)}}async headers(e,t){let{token:o,userAgent:r}=this.settings,s={...t};r&&(s["User-Agent"]=r);let i=typeof o=="function"?await se(o(e),e):o;return i&&(s.Authorization=`Bearer ${i}`),s}url(e,t={}){let o=new URL(this.settings.server+e);for(let[r,s]of Object.entries(t))s!==void 0&&s!==""&&o.searchParams.set(r,String(s));return o}async#t(e,t,o){let{keyId:r,keySecret:s}=this.settings;if(!r)return{};let i=String(Math.floor(Date.now()/1e3)),a=await ne(e,t,r,i,o);return{"X-Scoreboard-Key":r,"X-Scoreboard-Timestamp":i,"X-Scoreboard-Signature":"v1="+await oe(s,a)}}};function P(n){if(n==="."||n==="..")throw new f({code:"invalid_request",message:`the id "${n}" cannot be sent in a path`});return encodeURIComponent(n)}var z=class{#t;#e=!1;#r;#o;put(e){this.#t={value:e},this.#o?.()}end(e){this.#e=!0,this.#r=e,this.#o?.()}async*read(){for(;;){let e=this.#t;if(this.#t=void 0,e)yield e.value;else if(this.#e){if(this.#r!==void 0)throw this.#r;return}else await new Promise(t=>this.#o=t)}}};function ie(n){return{stream:"/v1/realtime/leaderboard",top:"/v1/leaderboard/top",query:{board:n}}}var E=1<<20,_=75e3;function L({routes:n,query:e,board:t}){return{...n.query,limit:e.limit,delta:1,last_event_id:t.resume}}function $(n){return x(JSON.parse(n))}var S=class{constructor(e){this.silent=e;this.reset()}silent;#t;reset(){this.stop(),this.#t=setTimeout(()=>{this.silent(new Error(`no message from the server for ${_/1e3} s`))},_)}stop(){clearTimeout(this.#t)}};async function ae(n,e){let t=new AbortController,o=()=>t.abort(y(e));e.addEventListener("abort",o,{once:!0});let r=new S(s=>t.abort(s));try{let{transport:s}=n,i=await s.settings.fetch(s.url(n.routes.stream,L(n)),{headers:await s.headers(t.signal,{Accept:"text/event-stream"}),signal:t.signal,redirect:"manual",cache:"no-store"}),a=i.headers.get("Content-Type")??"";throw i.status!==200||!a.startsWith("text/event-stream")||!i.body?M(i.status||302,i.headers,await I(i)):(await Me(n,i.body,r),new Error("the stream ended"))}catch(s){throw k("follow the events",t.signal.aborted?t.signal.reason:s)}finally{r.stop(),t.abort(),e.removeEventListener("abort",o)}}async function Me(n,e,t){let o=new TextDecoder,r=e.getReader(),s="",i="";for(;;){let{done:a,value:d}=await r.read();if(a)return;t.reset();let l=(s+o.decode(d,{stream:!0})).split(/\r?\n/);s=l.pop()??"";for(let m of l)if(m.startsWith(":"))n.heartbeat("sse");else if(m.startsWith("data:"))i+=m.slice(5)+`
`;else if(m===""&&i){let T=$(i);i="",n.frame("sse",T)}if(s.length+i.length>E)throw new Error(`an event of over ${E} characters`)}}var q=class{state;#t=!1;#e;#r;constructor(e){this.state={board:e,top:[],epoch:0,version:0,updatedAt:"",connection:"disconnected",reconnects:0,degraded:""}}get resume(){let{epoch:e,version:t,degraded:o}=this.state;return this.#t&&!o?`${e}:${t}`:""}snapshot(e,t,o){let{state:r}=this;(e<r.epoch?!this.#o({...o,epoch:e,version:t}):e===r.epoch&&t<r.version)||(this.#e=void 0,this.#t=!0,this.show({...o,epoch:e,version:t}))}show(e){this.state={...this.state,...e}}delta(e){let{state:t}=this,o=this.#e,{epoch:r=0,version:s=0}=e;return r<t.epoch?(o?.epoch===r&&o.version===e.base&&!o.degraded&&this.snapshot(r,s,de(o,e)),!0):r===t.epoch&&(s<t.version||s===t.version&&!t.degraded)?!0:!this.#t||t.degraded||r!==t.epoch||e.base!==t.version?(this.#t=!1,!1):(this.snapshot(r,s,de(t,e)),!0)}confirm(){this.#e&&this.snapshot(this.#e.epoch,this.#e.version,this.#e)}move(e){let{version:t=0,epoch:o=0}=e;if(this.#r&&t<this.#r.version&&o<=this.#r.epoch)return;this.#r={version:t,epoch:o};let r={userId:e.userId??"",score:e.score??0,rank:e.rank??0,previousRank:e.previousRank??0};this.state={...this.state,me:r}}#o({board:e,top:t,updatedAt:o,degraded:r,epoch:s,version:i}){let a=this.#e?.since??Date.now();return this.#e={board:e,top:t,updatedAt:o,degraded:r,epoch:s,version:i,since:a},Date.now()-a<5e3?!1:(this.#r&&={version:0,epoch:0},!0)}};function de(n,e){let t=new Set([...e.removed??[],...(e.changed??[]).map(r=>r.userId)]),o=[...n.top.filter(r=>!t.has(r.userId)),...e.changed??[]];return o.sort((r,s)=>r.rank-s.rank),{board:e.board??n.board,top:o,updatedAt:e.ts??"",degraded:""}}async function F(n,e){let{transport:t}=n,{settings:o}=t,r=L(n);if(o.token){let a=await t.try({method:"GET",path:"/v1/realtime/token",query:{board:n.query.board}},e);r.token=a.token}let s=t.url(n.routes.stream,r);s.protocol=s.protocol.replace("http","ws");let i=new o.webSocket(s.href);await new Promise((a,d)=>{let l=()=>b(y(e)),m=new S(w=>b(k("read the stream",w))),T=setInterval(()=>{if(!(Date.now()-h<_/3||!g))for(let w of["unsubscribe","subscribe"])i.send(JSON.stringify({type:w,board:n.query.board||"global"}))},_/3),u=setTimeout(()=>{b(v(`no WebSocket within ${o.timeout} ms`))},o.timeout),h=Date.now(),g=!1,b=w=>{m.stop(),clearInterval(T),clearTimeout(u),e.removeEventListener("abort",l),i.onmessage=i.onclose=i.onopen=null,i.onerror=()=>{},i.close(),d(w)};e.addEventListener("abort",l,{once:!0}),e.aborted&&l(),i.onopen=()=>{g=!0,clearTimeout(u)},i.onmessage=({data:w})=>{m.reset(),h=Date.now();try{let p=String(w);if(p.length>E)throw new Error(`a message of over ${E} characters`);n.frame("ws",$(p))}catch(p){b(k("read the stream",p))}},i.onerror=()=>{},i.onclose=({code:w,reason:p})=>b(Oe(w,p))})}var Ie={4401:[401,"unauthorized"],4403:[403,"forbidden"],4429:[429,"rate_limited"]};function Oe(n,e){let t=`the WebSocket was closed: ${n} ${e}`,o=Ie[n];return o?new f({status:o[0],code:o[1],message:t}):v(t)}var X=1e3,ce=3e3,B=5e3,Pe=6e4,ze=3e4;var j=class{constructor(e,t,o=ie(t.board)){this.transport=e;this.query=t;this.routes=o;this.board=new q(t.board||"global")}transport;query;routes;states=new z;board;received=!1;#t=!1;#e;#r;#o=-1/0;async run(e){try{await this.#n(e)}catch(t){this.states.end(e.aborted?void 0:t)}}async#n(e){let t=B;for(let o=0;;o++){await this.#i(e),e.throwIfAborted(),this.board.state.connection!=="polling"&&this.#h(this.#e);let{received:r}=this;r&&(o=0,t=B);let s=this.#r??A(o);this.#r=void 0,await R(s,e),!r&&(await this.#d(e,t),t=Math.min(2*t,Pe))}}async#i(e){this.received=!1,this.#e=void 0;for(let t of[F,ae]){if(this.received||e.aborted)return;t===F&&!this.transport.settings.webSocket||await t(this,e).catch(o=>this.#e??=o)}}frame(e,t){switch(t.type){case"leaderboard.updated":this.#a(e),this.board.snapshot(t.epoch??0,t.version??0,{board:t.board??"",top:t.top??[],updatedAt:t.ts??"",degraded:he(t)});break;case"leaderboard.delta":this.#a(e),this.board.delta(t)||this.#s();break;case"user.rank.updated":this.#a(e),this.board.move(t);break;case"error":throw new f({code:t.errorCode??"",status:$e(t.errorCode),message:t.message??""});case"bye":throw this.#r=Math.min(Math.max(t.reconnectAfterMs??0,200),ze),new Error(`the server is closing the connection: ${t.reason??""}`);default:this.received=!0;return}this.received=!0,this.states.put(this.board.state)}heartbeat(e){this.received=!0,this.#a(e),this.board.confirm(),this.states.put(this.board.state)}#s(){throw Date.now()-this.#o>B&&(this.#r=0),this.#o=Date.now(),this.received=!0,new Error("a delta for rows other than those received")}async#d(e,t){let o=Date.now()+t;for(let r=0;;){let s=X+Math.random()*(ce-X);try{if(await this.#c(e),r>0)return}catch(i){let a=i;if(e.aborted||/^40[134]$/.test(String(a.status)))throw a;this.#h(a),s=Math.max(A(r++,X,ce),a.retryAfter)}if(r===0&&Date.now()+s>o)return;await R(s,e)}}async#c(e){let{top:t,query:o}=this.routes,r=await this.transport.try({method:"GET",path:t,query:{...o,limit:this.query.limit}},e);this.#a("polling");let s={board:r.board,top:r.entries,updatedAt:r.updatedAt,degraded:he(r)};r.epoch===null||r.version===null?this.board.show(s):this.board.snapshot(r.epoch,r.version,s),this.states.put(this.board.state)}#a(e){let{state:t}=this.board,o=t.connection==="disconnected"&&this.#t;this.#t=!0,this.board.state={...t,connection:e,heardAt:new Date,reconnects:t.reconnects+Number(o),error:e==="polling"?this.#e:void 0}}#h(e){this.board.state={...this.board.state,connection:"disconnected",error:e},this.states.put(this.board.state)}};function he(n){return n.degradedReason?n.degradedReason:n.degraded?"unknown":n.boardState&&n.boardState!=="HEALTHY"?n.boardState.toLowerCase():""}var Le={unauthorized:401,token_used:401,forbidden:403,not_found:404,rate_limited:429,unavailable:503,overloaded:503};function $e(n=""){return Le[n]??400}var W=class{constructor(e,t,o=""){this.query=t;this.transport=new O(ee({server:e,token:o,webSocket:!1})),this.path=`/b/${P(t.board)}`}query;transport;path;top(){return this.transport.try({method:"GET",path:`${this.path}/top`,query:{limit:this.query.limit}})}player(e){return this.transport.try({method:"GET",path:`${this.path}/players/${P(e)}`})}follow(e,t){let o=new AbortController,r=new j(this.transport,this.query,{stream:`/v1/realtime/pages/${P(this.query.board)}`,top:`${this.path}/top`,query:{}});return(async()=>{r.run(o.signal);try{for await(let i of r.states.read())o.signal.aborted||e(i)}catch(i){o.signal.aborted||t(i)}})(),()=>o.abort()}};function ue(n){return new URL("..",n).href}function me(n){return n===""?"":n==="rebuilding"?"The ranking is being rebuilt. These rows come from the database.":"These ranks may be out of date."}var le=new Intl.RelativeTimeFormat(void 0,{numeric:"auto"}),qe=35;function pe(n,e){let t=Math.max(0,Math.round((Date.now()-n.getTime())/1e3));return e==="sse"&&t<qe?"":t<120?le.format(-t,"second"):le.format(-Math.round(t/60),"minute")}var je=new Intl.NumberFormat;function V(n){return je.format(n)}function c(n,e="",t=""){let o=document.createElement(n);return e&&(o.className=e),t&&(o.textContent=t),o}function We(n){let e=0;for(let t=0;t<n.length;t++)e=(e*31+n.charCodeAt(t))%9973;return e%8}var N=class{tr;#t;#e=!1;#r=0;#o;#n;#i;#s;#d;constructor(e){if(!e){e=c("tr");let t=c("th","rank");t.scope="row",e.append(t,c("td","who"),c("td","move"),c("td","score"))}this.tr=e,[this.#n,this.#i,this.#s,this.#d]=[...e.children]}show(e,t,o){let{tr:r}=this,s=this.#t,{rank:i,userId:a,score:d,displayName:l}=e;return this.#t=e,r.classList.contains("own")!==o&&(r.classList.toggle("own",o),o?r.ariaCurrent="true":r.removeAttribute("aria-current")),s?.rank!==i&&(this.#n.textContent=V(i),this.#n.setAttribute("data-rank",String(i))),(!s||s.displayName!==l)&&this.#c(a,l),(s?.score!==d||this.#e!==t)&&this.#a(d,t),this.#e=t,s!==void 0&&s.score!==d}moved(e){if(e+=this.#r,this.#r=e,clearTimeout(this.#o),e===0)return this.#s.replaceChildren();let t=c("span","",e>0?"▲":"▼");t.ariaHidden="true",this.#s.className=e>0?"move up":"move down",this.#s.replaceChildren(t,c("span","quiet",e>0?"up ":"down "),V(Math.abs(e))),this.#o=setTimeout(()=>{this.#r=0,this.#s.replaceChildren()},6e3)}#c(e,t){let o=t||e,r=c("span",`badge hue${We(e)}`,String.fromCodePoint(o.codePointAt(0)??32));r.ariaHidden="true";let s=c("bdi","name",o);s.dir="auto",this.tr.dataset.user=e,this.#i.replaceChildren(r,s),o!==e&&this.#i.append(" ",c("bdi","id",e))}#a(e,t){let o=c("data","",V(e));if(o.value=String(e),this.#d.replaceChildren(o),!t)return;let r=c("span","tie"),s=c("span","","=");r.title="Tied: the player who reached the score first is ahead",s.ariaHidden="true",r.append(s,c("span","quiet"," tied ")),this.#d.prepend(r)}},D=class{constructor(e,t=[]){this.body=e;this.below=t;for(let o of e.rows){let r=o.dataset.user??"";this.#t.set(r,new N(o)),this.#e.set(r,Number(o.firstElementChild?.getAttribute("data-rank")))}}body;below;#t=new Map;#e=new Map;#r=[];#o;#n=matchMedia("(prefers-reduced-motion: reduce)");shown=()=>{};show(e,t=""){let o=this.#o;this.#o={entries:e,own:t},!o&&Promise.allSettled(this.#r.map(r=>r.finished)).then(fe).then(fe).then(()=>{let r=this.#o;this.#o=void 0,this.#r=[],this.#i(r.entries,r.own)})}#i(e,t){let{body:o}=this,r=!this.#n.matches&&document.visibilityState==="visible"&&o.rows.length>0,s=new Map;r&&[...o.rows].forEach((u,h)=>s.set(u.dataset.user??"",h));let i=r&&o.rows.length!==e.length,{top:a,height:d}=r?o.rows[0].getBoundingClientRect():{top:0,height:0},l=i?this.below.map(u=>u.getBoundingClientRect().top):[],m=u=>{let h=a+u*d;return h>-d&&h<innerHeight},T=new Set(e.map(u=>u.userId));for(let[u,h]of this.#t)T.has(u)||(h.tr.remove(),this.#t.delete(u),this.#e.delete(u));e.forEach((u,h)=>{let{userId:g,rank:b,score:w}=u,p=this.#t.get(g)??new N,we=e[h-1]?.score===w||e[h+1]?.score===w,ye=p.show(u,we,g===t);o.rows[h]!==p.tr&&o.insertBefore(p.tr,o.rows[h]??null);let H=this.#e.get(g);H!==void 0&&H!==b&&p.moved(H-b),this.#t.set(g,p),this.#e.set(g,b);let C=s.get(g);!r||!m(h)&&!m(C??h)||(C===void 0?this.#r.push(...Q(p.tr,d,!0)):C!==h&&this.#r.push(...Q(p.tr,(C-h)*d,!1)),ye&&Ne(p.tr.querySelector("data")))}),l.forEach((u,h)=>{let g=this.below[h],b=u-g.getBoundingClientRect().top;b&&this.#r.push(...Q(g,b,!1))}),this.shown(e)}};function fe(){return new Promise(requestAnimationFrame)}function Q(n,e,t){let o={duration:300,easing:"cubic-bezier(.2, 0, 0, 1)"},r=n.animate([{transform:`translateY(${e}px)`},{transform:"translateY(0)"}],o);return t?[r,n.animate([{opacity:0},{opacity:1}],o)]:e<=0?[r]:[r,n.animate([{zIndex:1},{zIndex:1}],o)]}function Ne(n){n.animate([{transform:"scale(1.08)"},{transform:"none"}],{duration:300,easing:"ease-out"})}var ge=ue(import.meta.url),be=new CSSStyleSheet;be.replaceSync(Z+J+Y);var G=class extends HTMLElement{static observedAttributes=["board","limit","player"];#t=c("table","rows");#e=c("p","status");#r;#o;#n;#i;constructor(){super();let e=this.attachShadow({mode:"open"});e.adoptedStyleSheets=[be],this.#t.setAttribute("part","table"),this.#e.setAttribute("part","status"),e.append(this.#t,this.#e)}connectedCallback(){this.#d()}disconnectedCallback(){this.#s()}attributeChangedCallback(){this.#d()}#s(){this.#o?.(),this.#o=void 0,clearInterval(this.#i)}#d(){if(this.#s(),!this.isConnected)return;let e=this.getAttribute("limit")==="100"?100:10,t=this.getAttribute("board")||"global",o=c("caption","quiet",`Top ${e} of ${t}`),r=c("thead"),s=c("tr");for(let[d,l]of[["rank","Rank"],["who","Player"],["move",""],["score","Score"]]){let m=c("th",d,l);m.scope="col",l||m.append(c("span","quiet","Change")),s.append(m)}r.append(s);let i=c("tbody");this.#t.replaceChildren(o,r,i),this.#r=new D(i),this.#n=void 0,this.#e.textContent="Connecting …";let a=new W(ge,{board:t,limit:e});this.#o=a.follow(d=>this.#c(d),d=>{this.#s(),this.#e.textContent=d instanceof Error?d.message:String(d)}),this.#i=setInterval(()=>this.#a(),1e3)}#c(e){this.#n=e,e.heardAt&&this.#r?.show(e.top,this.getAttribute("player")??""),this.#a()}#a(){let e=this.#n;if(!e)return;let t=me(e.degraded)||(e.connection==="disconnected"?this.#h(e):"");this.#e.textContent!==t&&(this.#e.textContent=t)}#h(e){return e.heardAt?`Reconnecting … ${pe(e.heardAt,e.connection)}`:`No connection to ${new URL(ge).host}: it is unavailable, or its setting web.origins does not list `+location.origin}};customElements.get("score-board")||customElements.define("score-board",G);
