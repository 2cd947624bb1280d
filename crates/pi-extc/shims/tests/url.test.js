import { shim } from "./setup.js";
import querystring from "node:querystring";
import url from "node:url";
import { same } from "./differ.js";

const ours = await shim("node/url");
const { default: query } = await shim("node/querystring");
const URLS = [
  "http://example.org", "https://user:pa ss@Example.ORG:443/a/../b/./c?x=1&y=ä#frag ment", "http://example.org:8080/", "HTTP://EXAMPLE.org/%7Efoo/%zz", "ftp://ftp.x/y;type=a", "file:///etc/passwd", "file:///C:/a/b", "file://localhost/x", "file:a/b", "mailto:a@b.c", "data:text/plain,hi there",
  "http://[::1]:3000/x", "http://[2001:DB8::0:1]/", "http://[1:2:3:4:5:6:7:8]", "http://127.1/", "http://0x7f.0.0.1", "http://1.2.3.4.5", "http://256.1.1.1", "http://3232235777", "http://münchen.de/ü", "http://a.b/ c?d e#f g", "http://a.b?c'd", "foo://bar/baz?q", "foo:bar/baz?q#h", "foo:/a/../b", "http:\\\\a\\b\\..\\c", "//a/b",
  "http://a b/", "http://", "http:///x", "http://x:99999", "http://x:abc", "nothing", "", "javascript:alert(1)", "http://a/%2e%2E/b", "blob:https://a.b/c", "http://x/?", "http://x/#", "http://x?a=b+c%20d", " http://x/ ", "ht\ntp://x/a\tb", "http://user@host/", "http://:pw@host/", "ws://x:80/", "http://x/a;b=c,d", "http://x/~!$&'()*+,;=:@", "http://a%41.b/", "http://xn--mnchen-3ya.de", "node:fs", "http://ex.com./",
];
const BASES = ["../d", "d", "/d", "//h/d", "?q", "#f", "", ".", "..", "http:d", "https://o/p", "./a/b/../../c", "a?b#c", "\\x", "foo:bar"];
// Node's parser takes "a?b#c" after a base without a hierarchy, against the standard.
const isAgainstStandard = (text, base) => text === "a?b#c" && base === "mailto:x";
const parts = (own) => [own.href, own.origin, own.protocol, own.username, own.password, own.host, own.hostname, own.port, own.pathname, own.search, own.hash];
same("URL", ours, url, URLS.map((text) => [text]), ({ URL }, text) => parts(new URL(text)));
same("URL with a base", ours, url, BASES.flatMap((text) => ["http://a.b/c/d/e?f#g", "file:///x/y/z", "foo://h/i/j", "mailto:x"].filter((base) => !isAgainstStandard(text, base)).map((base) => [text, base])), ({ URL }, text, base) => parts(new URL(text, base)));
same("setters", ours, url, [["protocol", "https"], ["protocol", "foo"], ["host", "q:81"], ["hostname", "Q.R"], ["port", "443"], ["port", "x"], ["port", ""], ["pathname", "a b/../c"], ["pathname", ""], ["search", "a=b c"], ["search", ""], ["hash", "#x y"], ["hash", ""], ["username", "a@b"], ["password", "p:w"], ["href", "http://z/"], ["href", "no"]], ({ URL }, name, value) => {
  const own = new URL("http://h:80/p?q#f");
  own[name] = value;
  return parts(own);
});
same("searchParams of a URL", ours, url, [["a", "1 2"], ["b", "ä&="]], ({ URL }, name, value) => {
  const own = new URL("http://h/?x=1&a=0");
  own.searchParams.append(name, value);
  own.searchParams.delete("x");
  return [own.href, own.search, [...own.searchParams]];
});
same("URLSearchParams", ours, url, [["a=1&b=2&a=3"], ["?x=%20+y"], [""], ["&&a"], ["a=b=c"], [{ a: "1", b: 2 }], [[["a", "b"], ["c", "d"]]], ["%F0%9F%98%80=%zz"], [[["a"]]], [null], [undefined]], ({ URLSearchParams }, init) => {
  const own = new URLSearchParams(init);
  own.set("a", "z");
  own.sort();
  return [own.toString(), own.size, own.get("a"), own.getAll("b"), own.has("c"), [...own.keys()]];
});
same("URLSearchParams whose class has readers of its own", ours, url, [["a=1&b=2"]], ({ URLSearchParams }, init) => {
  class Own extends URLSearchParams {
    *values() { for (const name of this.keys()) yield this.get(name); }
    *entries() { for (const name of this.keys()) yield [name, this.get(name)]; }
    *keys() { yield* super.keys(); }
  }
  const [own, seen] = [new Own(init), []];
  own.forEach((value, name) => seen.push(name, value));
  return [[...own.keys()], [...own.values()], [...own.entries()], [...own], seen];
});
same("file URLs and paths", ours, url, [["/a b/c#d?e%f"], ["/x/ü"], ["/"], ["/a/"], ["rel/x"]], ({ pathToFileURL, fileURLToPath }, path) => [pathToFileURL(path).href, fileURLToPath(pathToFileURL(path))]);
same("fileURLToPath refuses", ours, url, [["http://x/"], ["file://host/x"], ["file:///a%2Fb"], [5]], ({ fileURLToPath }, value) => { try { return fileURLToPath(value); } catch (fault) { return fault.code; } });
same("old parse", ours, url, [["http://user:pass@host.com:8080/p/a/t/h?query=string#hash"], ["/a/b?c=d"], ["//h/x"], ["x"], ["https://h"]], ({ parse }, text) => ({ ...parse(text) }));
same("old format and resolve", ours, url, [[{ protocol: "http", host: "a.b", pathname: "/c", query: { d: 1 } }], [{ hostname: "x", port: 1, slashes: true }]], ({ format, resolve }, parts_) => [format(parts_), resolve("http://a/b/c", "../d"), resolve("/one/two/three", "four")]);
same("querystring", query, querystring, [["a=1&b=2&a=3"], ["a=%20+x"], [""], ["a;b", ";"], ["%zz=1"], ["=x&y="]], (own, text, separator) => [{ ...own.parse(text, separator) }, own.stringify({ ...own.parse(text, separator) })]);
same("querystring.stringify", query, querystring, [[{ a: [1, 2], b: true, c: null, d: undefined, e: 1n, f: "ä b" }], [null], ["x"]], (own, value) => own.stringify(value));
