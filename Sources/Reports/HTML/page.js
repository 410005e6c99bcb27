"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const make = (name, properties, ...children) => {
    const element = Object.assign(document.createElement(name), properties);
    element.append(...children);
    return element;
  };
  const words = new Intl.Collator("en", {numeric: true}).compare;
  const count = new Intl.NumberFormat("en").format;
  const plainText = root => root.textContent.toLowerCase();
  const search = (label, action) => {
    const input = make("input", {type: "search", placeholder: "Filter", ariaLabel: "Filter " + label});
    input.addEventListener("input", action);
    return input;
  };
  const matches = (text, input) => input.value.toLowerCase().split(/\s+/).every(term => text.includes(term));

  // The clipboard needs a secure context; a selection works everywhere.
  const copyButton = (title, text) => {
    const button = make("button", {type: "button", className: "button"}, title);
    button.addEventListener("click", async () => {
      const content = text();
      try {
        await navigator.clipboard.writeText(content);
      } catch {
        const area = make("textarea", {value: content, className: "aside"});
        document.body.append(area);
        area.select();
        document.execCommand("copy");
        area.remove();
      }
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = title; }, 2000);
    });
    return button;
  };

  // Unknown numbers stay last in either direction, and equal rows keep their order.
  const value = (row, column) => {
    const cell = row.cells[column];
    if (!cell.classList.contains("n")) return cell.textContent;
    return cell.dataset.v === undefined ? null : Number(cell.dataset.v);
  };
  const sort = (body, column, sign) => {
    const rows = [...body.rows].map(row => [value(row, column), row]);
    rows.sort(([a], [b]) => {
      if (a === null || b === null) return (a === null) - (b === null);
      return sign * (typeof a === "number" ? a - b : words(a, b));
    });
    body.append(...rows.map(([, row]) => row));
  };
  for (const frame of all(".frame")) {
    const body = frame.querySelector("tbody");
    if (body.rows.length < 2) continue;
    const heads = all("thead th", frame);
    heads.forEach((head, column) => {
      const button = make("button", {type: "button"}, ...head.childNodes);
      button.addEventListener("click", () => {
        const order = head.ariaSort;
        const isDown = order ? order === "ascending" : head.classList.contains("n");
        heads.forEach(other => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", isDown ? "descending" : "ascending");
        sort(body, column, isDown ? -1 : 1);
      });
      head.append(button);
    });
    if (body.rows.length <= 5) continue;
    const rows = [...body.rows].map(row => [plainText(row), row]);
    const shown = make("output", {});
    const update = () => {
      for (const [text, row] of rows) row.hidden = !matches(text, input);
      shown.textContent = count(rows.filter(([, row]) => !row.hidden).length) + " of " + count(rows.length);
    };
    const input = search(frame.getAttribute("aria-label").toLowerCase(), update);
    update();
    frame.before(make("div", {className: "tools"}, input, shown));
  }

  for (const code of all(".line code")) code.after(copyButton("Copy", () => code.textContent));

  const kinds = all("details.kind");
  // The curl line of an item: the words that its group has, and its own; none if they can't be shown.
  const curlOf = item => {
    const code = item.closest(".kind").querySelector(`code[data-variant="${item.dataset.variant ?? 0}"]`);
    const url = item.querySelector(".url").textContent;
    const word = item.dataset.word === "'" ? `'${url}'` : item.dataset.word ?? url;
    return code && word ? code.dataset.prefix + " " + word : null;
  };
  const addCurl = item => {
    const line = curlOf(item), facts = item.querySelector(".facts");
    if (!line || facts.querySelector("button")) return;
    const button = make("button", {type: "button", className: "curl"}, "curl");
    button.addEventListener("click", () => {
      const shown = item.querySelector(".line");
      if (shown) return shown.remove();
      const code = make("code", {}, line);
      facts.after(make("div", {className: "line"}, code, copyButton("Copy", () => line)));
    });
    facts.append(" · ", button);
  };
  const addCurls = details => all(":scope > ol > li", details).forEach(addCurl);
  for (const details of all("details.kind, details.part")) {
    // An open one has no event.
    if (details.open) addCurls(details);
    details.addEventListener("toggle", () => addCurls(details));
  }

  const failures = kinds.flatMap(kind => all("li", kind).map(item => {
    const {host, list, since} = item.dataset;
    return {item, kind, Kind: kind.querySelector(".title").textContent, Host: host, List: list, Since: since ?? "new"};
  }));
  // Made when they are needed first, since there may be thousands.
  const textOf = failure => failure.text ??=
    [...all(".title, summary > .message, :scope > .message", failure.kind), failure.item].map(plainText).join(" ");
  const address = failure => failure.address ??=
    failure.Host + failure.item.querySelector(".url").textContent.replace(/^[a-z]+:\/\/[^/?#]*/i, "");
  const has = (failure, name, value) => name === "Folder" ? address(failure).startsWith(value) : failure[name] === value;
  const counts = document.querySelector("#counts");
  if (failures.length > 1) {
    const chosen = {}, shown = make("output", {});
    const isShown = failure => Object.entries(chosen).every(([name, values]) =>
      values.size === 0 || [...values].some(value => has(failure, name, value)));
    const update = () => {
      const isFiltered = input.value.trim() !== "" || Object.values(chosen).some(values => values.size > 0);
      let total = 0;
      for (const failure of failures) {
        const isHit = !isFiltered || isShown(failure) && (input.value.trim() === "" || matches(textOf(failure), input));
        if (failure.item.hidden === isHit) failure.item.hidden = !isHit;
        if (isHit) total += 1;
      }
      for (const details of all("details.kind, details.part")) {
        details.hidden = isFiltered && !details.querySelector("li:not([hidden])");
        if (isFiltered && !details.hidden) details.open = true;
      }
      const {all: every, listed} = counts.dataset;
      if (!isFiltered) shown.textContent = count(every) + (every === "1" ? " failure" : " failures");
      else shown.textContent = count(total) + " of " + count(listed) + (listed === every ? "" : " listed");
    };
    const visible = text => () => failures.filter(({item}) => !item.hidden).map(({item}) => text(item)).filter(Boolean).join("\n");
    const input = search("failures", update);

    const chips = make("div", {className: "chips"});
    for (const name of ["Since", "Kind", "Host", "Folder", "List"]) {
      const items = all(`li[data-name="${name}"]`, counts);
      if (items.length < (name === "Folder" ? 1 : 2)) continue;
      const values = chosen[name] = new Set();
      const row = make("div", {role: "group", ariaLabel: name}, make("span", {}, name));
      items.forEach(({dataset}, index) => {
        const chip = make("button", {type: "button", className: "chip", ariaPressed: "false", hidden: index >= 8});
        const number = count(dataset.count) + (dataset.note ? " · " + dataset.note : "");
        chip.append(make("bdi", {}, dataset.value), " ", make("small", {}, number));
        chip.addEventListener("click", () => {
          const isOn = !values.delete(dataset.value);
          if (isOn) values.add(dataset.value);
          chip.ariaPressed = String(isOn);
          update();
        });
        row.append(chip);
      });
      if (items.length > 8) {
        const more = make("button", {type: "button", className: "chip more"}, "+" + (items.length - 8) + " more");
        more.addEventListener("click", () => { all(".chip", row).forEach(chip => { chip.hidden = chip === more; }); });
        row.append(more);
      }
      chips.append(row);
    }

    const isClosed = () => kinds.some(kind => !kind.open);
    const open = make("button", {type: "button", className: "button"}, isClosed() ? "Open all" : "Close all");
    open.addEventListener("click", () => {
      const isOpening = isClosed();
      kinds.forEach(kind => { kind.open = isOpening; });
      open.textContent = isOpening ? "Close all" : "Open all";
    });
    const link = item => { const url = item.querySelector(".url"); return url.getAttribute("href") || url.textContent; };
    const buttons = [copyButton("Copy URLs", visible(link))];
    if (document.querySelector(".line code")) buttons.push(copyButton("Copy curl", visible(curlOf)));
    if (kinds.length > 1) buttons.push(open);
    update();
    const filters = make("details", {className: "filters"}, make("summary", {}, "Filter by kind, host, folder or list"), chips);
    filters.open = kinds.length <= 8 && innerWidth > 700;
    const tools = make("div", {className: "tools"}, input, shown, ...buttons);
    document.querySelector("#counts").after(tools, ...(chips.firstChild ? [filters] : []));
  }
  addEventListener("beforeprint", () => kinds.forEach(kind => { kind.open = true; }));
})();
