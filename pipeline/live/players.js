// A clip of a list plays in its place, one at a time. Without scripts its link leads to the video itself.
let open = null;

const close = () => {
  if (!open) return;
  open.video.remove();
  open.link.setAttribute("aria-expanded", "false");
  open = null;
};

const show = (link) => {
  const video = document.createElement("video");
  Object.assign(video, { src: link.href, className: "whole", controls: true, autoplay: true, playsInline: true });
  video.setAttribute("aria-label", `Video ${link.dataset.play}`);
  link.closest("article").querySelector("header").after(video);
  link.setAttribute("aria-expanded", "true");
  open = { link, video };
};

for (const link of document.querySelectorAll("a[data-play]")) {
  link.setAttribute("role", "button");
  link.setAttribute("aria-expanded", "false");
  link.addEventListener("keydown", (event) => { if (event.key === " ") { event.preventDefault(); link.click(); } });
  link.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const was = open?.link;
    close();
    if (was !== link) show(link);
  });
}
