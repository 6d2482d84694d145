// Without this script every page works by being loaded again. With it, a page follows what changes,
// drawings show their titles at the pointer, and a script is checked while it is typed.
(function () {
  "use strict";
  var body = document.body, base = body.dataset.base || "";
  var link = document.getElementById("link"), tip = document.createElement("div");
  tip.id = "tip"; tip.hidden = true; body.appendChild(tip);

  var lost = link.textContent;
  function say(words) { link.textContent = words; link.hidden = !words; }

  // Following: the page is fetched again, and each part with an id that differs is replaced.
  var fetching = null, wanted = false, last = 0, timer = 0;
  var least = 1000; // ms between two fetches
  function busy(part) { // a part that is being used is left alone
    var at = document.activeElement;
    return part.hasAttribute("data-keep") || (at && at !== document.body && at.id !== "main" && part.contains(at) && /^(INPUT|SELECT|TEXTAREA|BUTTON)$/.test(at.tagName));
  }
  function same(a, b) { return a.outerHTML === b.outerHTML; }
  function place(part, fresh) {
    var open = Array.from(part.querySelectorAll("details[id][open]")).map(function (d) { return d.id; });
    var scrolled = Array.from(part.querySelectorAll(".scroll")).map(function (s) { return [s.scrollLeft, s.scrollTop, s.scrollTop + s.clientHeight >= s.scrollHeight - 4]; });
    var at = document.activeElement, focus = at && part.contains(at) ? at.getAttribute("href") || at.id : null;
    part.replaceWith(fresh);
    open.forEach(function (id) { var d = document.getElementById(id); if (d) { d.open = true; } });
    Array.from(fresh.querySelectorAll(".scroll")).forEach(function (s, i) {
      if (scrolled[i]) { s.scrollLeft = scrolled[i][0]; s.scrollTop = scrolled[i][2] && s.classList.contains("log") ? s.scrollHeight : scrolled[i][1]; }
    });
    if (focus) {
      var back = fresh.querySelector('[href="' + CSS.escape(focus).replace(/\\([/.?=&-])/g, "$1") + '"]') || document.getElementById(focus);
      if (back) { back.focus({ preventScroll: true }); }
    }
  }
  function merge(page, roots) {
    var main = document.getElementById("main"), fresh = page.getElementById("main");
    var ids = function (m) { return Array.from(m.children).map(function (c) { return c.id || c.tagName + "." + c.className; }).join(); };
    tip.hidden = true;
    if (ids(main) !== ids(fresh) && busy(main)) { // another page: what is typed stays, and the news is said above it
      var news = fresh.querySelector(".banner, .lead");
      say(news ? news.textContent : "This page has changed; load it again to see it.");
      return;
    }
    say("");
    if (ids(main) !== ids(fresh)) {
      place(main, fresh);
    } else {
      Array.from(main.children).forEach(function (part, i) {
        var other = part.id ? page.getElementById(part.id) : fresh.children[i];
        if (other && other.tagName === part.tagName && !same(part, other) && !busy(part)) { place(part, other); }
      });
    }
    var foot = document.getElementById("foot"), next = page.getElementById("foot");
    if (foot && next) { foot.replaceWith(next); }
    if (page.body.hasAttribute("data-live")) { body.setAttribute("data-live", ""); } else { body.removeAttribute("data-live"); }
  }
  function load(url, push) {
    if (fetching) { fetching.abort(); }
    var me = fetching = new AbortController();
    return fetch(url, { signal: me.signal, headers: { Accept: "text/html" }, cache: "no-cache" }).then(function (r) { return r.text(); }).then(function (text) {
      if (fetching !== me) { return; }
      merge(new DOMParser().parseFromString(text, "text/html"));
      if (push) { history.replaceState(null, "", url); }
    }).catch(function (e) { if (e.name !== "AbortError") { say(lost); } }).finally(function () {
      if (fetching === me) { fetching = null; }
      if (wanted) { wanted = false; follow(); }
    });
  }
  function follow() {
    if (document.hidden) { return; }
    if (fetching || timer) { wanted = !!fetching; return; }
    timer = setTimeout(function () { timer = 0; last = Date.now(); load(location.href, false); }, Math.max(0, last + least - Date.now()));
  }
  // One stream while the page is seen: browsers have few connections for one host.
  var stream = null, broken = false;
  function listen() {
    if (stream || document.hidden || !body.hasAttribute("data-live")) { return; }
    stream = new EventSource(base + "/live");
    stream.addEventListener("changed", follow);
    stream.onopen = function () { if (broken) { say(""); follow(); } broken = false; };
    stream.onerror = function () { // a stream ends from time to time, and the browser begins another
      var mine = stream;
      if (broken && mine.readyState !== EventSource.CLOSED) { return; }
      broken = true;
      setTimeout(function () {
        if (!broken || stream !== mine) { return; }
        say(lost);
        if (mine.readyState === EventSource.CLOSED) { hush(); listen(); }
      }, 8000);
    };
  }
  function hush() { if (stream) { stream.close(); stream = null; } }
  document.addEventListener("visibilitychange", function () { if (document.hidden) { hush(); } else { listen(); if (stream) { follow(); } } });
  window.addEventListener("pagehide", hush);
  window.addEventListener("pageshow", listen);
  listen();
  body.dataset.ready = "1";

  // Titles of drawings at the pointer and at the focus.
  function titleOf(e) {
    for (var n = e; n && n.nodeType === 1 && n.tagName !== "svg"; n = n.parentNode) {
      var t = Array.from(n.children).find(function (c) { return c.tagName === "title"; });
      if (t) { return t.textContent; }
    }
    return "";
  }
  function show(words, x, y) {
    tip.textContent = words; tip.hidden = !words;
    tip.style.left = Math.max(4, Math.min(x + 14, window.innerWidth - tip.offsetWidth - 8)) + "px";
    tip.style.top = Math.max(4, y - tip.offsetHeight - 12) + "px";
  }
  document.addEventListener("mousemove", function (e) {
    if (e.target.closest && e.target.closest("svg")) { show(titleOf(e.target), e.clientX, e.clientY); } else { tip.hidden = true; }
  });
  document.addEventListener("focusin", function (e) {
    if (!e.target.closest || !e.target.closest("svg")) { tip.hidden = true; return; }
    var r = e.target.getBoundingClientRect(); show(titleOf(e.target), r.left, r.top);
  });
  document.addEventListener("keydown", function (e) { if (e.key === "Escape") { tip.hidden = true; } });

  // The slider of the replay.
  document.addEventListener("input", function (e) {
    var form = e.target.form;
    if (form && form.hasAttribute("data-slide") && e.target.type === "range") {
      clearTimeout(form.slide);
      form.slide = setTimeout(function () { load(form.action + "?" + new URLSearchParams(new FormData(form)), true); }, 120);
    }
    if (form && form.dataset.check) {
      clearTimeout(form.check);
      form.check = setTimeout(function () { check(form); }, 250);
    }
  });
  function check(form) {
    fetch(form.dataset.check, { method: "POST", body: new URLSearchParams(new FormData(form)) }).then(function (r) { return r.text(); }).then(function (text) {
      var page = new DOMParser().parseFromString(text, "text/html");
      document.getElementById("checked").replaceChildren.apply(document.getElementById("checked"), Array.from(page.body.childNodes));
    }).catch(function () { say(lost); });
  }
  // A drop-down or a button of an order is pressed once.
  document.addEventListener("submit", function (e) {
    if (e.target.method !== "post") { return; }
    if (e.target.dataset.sent) { e.preventDefault(); }
    e.target.dataset.sent = "1";
    window.addEventListener("pageshow", function () { delete e.target.dataset.sent; }, { once: true });
  });
  window.addEventListener("beforeprint", function () { document.querySelectorAll("details").forEach(function (d) { d.open = true; }); });
})();
