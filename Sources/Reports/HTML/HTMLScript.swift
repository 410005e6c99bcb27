/// The page's behaviour beyond showing everything: sorts and filters tables, filters failures by chips, copies URLs and curl lines.
///
/// It reads only the page and creates its controls itself, so that a page without JavaScript has no dead controls.
enum HTMLScript {
  /// The hash of ``source`` as the page's policy names it (Base64 of SHA-256); a test prints the right one.
  static let sha256 = "7Finnc/eXrEGeyn0HPNMZ037Qs3xB0dqx3gCh0Y5vS0="

  /// The content of the script element, to the byte.
  static let source = #"""
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
      const plainText = root => {
        const copy = root.cloneNode(true);
        all(".curl", copy).forEach(line => line.remove());
        return copy.textContent.toLowerCase();
      };
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
      const failures = kinds.flatMap(kind => all("li", kind).map(item => {
        const {host, list, since} = item.dataset;
        const title = kind.querySelector(".title").textContent;
        const message = kind.querySelector(":scope > .message")?.textContent ?? "";
        const text = (title + " " + message).toLowerCase() + " " + plainText(item);
        return {item, text, Kind: title, Host: host, List: list, Since: since ?? "new"};
      }));
      if (failures.length > 1) {
        const chosen = {}, shown = make("output", {});
        const isShown = (failure, except) => Object.entries(chosen).every(([name, values]) =>
          name === except || values.size === 0 || values.has(failure[name]));
        const update = () => {
          const isFiltered = input.value.trim() !== "" || Object.values(chosen).some(values => values.size > 0);
          let total = 0;
          for (const failure of failures) {
            failure.item.hidden = !(isShown(failure) && matches(failure.text, input));
            if (!failure.item.hidden) total += 1;
          }
          for (const kind of kinds) {
            kind.hidden = isFiltered && !kind.querySelector("li:not([hidden])");
            if (isFiltered) kind.open = true;
          }
          shown.textContent = count(total) + " of " + count(failures.length);
        };
        const visible = selector => () => failures.filter(({item}) => !item.hidden).map(({item}) => {
          const element = item.querySelector(selector);
          return element && (element.getAttribute("href") || element.textContent);
        }).filter(Boolean).join("\n");
        const input = search("failures", update);

        const chips = make("div", {className: "chips"});
        for (const name of ["Kind", "Host", "List", "Since"]) {
          const counts = new Map();
          for (const failure of failures) if (failure[name]) counts.set(failure[name], (counts.get(failure[name]) ?? 0) + 1);
          if (counts.size < 2) continue;
          const values = chosen[name] = new Set();
          const row = make("div", {role: "group", ariaLabel: name}, make("span", {}, name));
          [...counts].sort((a, b) => b[1] - a[1]).forEach(([value, number], index) => {
            const chip = make("button", {type: "button", className: "chip", ariaPressed: "false", hidden: index >= 8});
            chip.append(make("bdi", {}, value), " ", make("small", {}, count(number)));
            chip.addEventListener("click", () => {
              const isOn = !values.delete(value);
              if (isOn) values.add(value);
              chip.ariaPressed = String(isOn);
              update();
            });
            row.append(chip);
          });
          if (counts.size > 8) {
            const more = make("button", {type: "button", className: "chip more"}, "+" + (counts.size - 8) + " more");
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
        const buttons = [copyButton("Copy URLs", visible(".url"))];
        if (document.querySelector(".line code")) buttons.push(copyButton("Copy curl", visible(".line code")));
        if (kinds.length > 1) buttons.push(open);
        update();
        const filters = make("details", {className: "filters"}, make("summary", {}, "Filter by kind, host or list"), chips);
        filters.open = kinds.length <= 8 && innerWidth > 700;
        const tools = make("div", {className: "tools"}, input, shown, ...buttons);
        document.querySelector("#failures .head").after(tools, ...(chips.firstChild ? [filters] : []));
      }
      addEventListener("beforeprint", () => kinds.forEach(kind => { kind.open = true; }));
    })();
    """#
}
