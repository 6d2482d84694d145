(function () {
  "use strict";
  var tip = document.createElement("div"), on = [];
  tip.id = "tip"; tip.hidden = true;
  document.body.appendChild(tip);
  document.querySelectorAll(".lane").forEach(function (lane) {
    var title = lane.querySelector("title");
    var words = title.textContent, job = lane.getAttribute("data-j");
    lane.setAttribute("aria-label", words);
    title.remove();
    lane.addEventListener("mouseenter", function () {
      tip.textContent = words; tip.hidden = false;
      if (job === null) { return; }
      on = Array.from(lane.closest("article").querySelectorAll('.lane[data-j="' + job + '"]'));
      on.forEach(function (l) { l.classList.add("on"); });
    });
    lane.addEventListener("mousemove", function (e) {
      var x = Math.min(e.clientX + 14, window.innerWidth - tip.offsetWidth - 8);
      tip.style.left = x + "px"; tip.style.top = Math.max(4, e.clientY - tip.offsetHeight - 12) + "px";
    });
    lane.addEventListener("mouseleave", function () {
      tip.hidden = true;
      on.forEach(function (l) { l.classList.remove("on"); });
    });
  });
  window.addEventListener("beforeprint", function () {
    document.querySelectorAll("details.course").forEach(function (d) { d.open = true; });
  });
})();
