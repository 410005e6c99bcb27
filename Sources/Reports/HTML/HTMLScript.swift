/// What the page can do beyond showing all: sort and filter its tables, copy lines, open all groups.
///
/// It reads nothing but the page, and makes its controls itself, so that without it the page has none.
enum HTMLScript {
  /// The hash of ``source`` as the page's policy names it (Base64 of SHA-256); a test prints the right one.
  static let sha256 = "eqQ1QS9LuEF6lq5AQGIVrM5oyCbMNOHAs4PwDXP65lI="

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

      // Unknown numbers stay last in either direction, and equal rows keep their order.
      const value = (row, column) => {
        const cell = row.cells[column];
        if (!cell.classList.contains("n")) return (cell.querySelector("a, span") || cell).textContent;
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
      const filter = (frame, body) => {
        const rows = [...body.rows].map(row => {
          const copy = row.cloneNode(true);
          all(".curl", copy).forEach(line => line.remove());
          return [copy.textContent.toLowerCase(), row];
        });
        const label = frame.getAttribute("aria-label");
        const input = make("input", {type: "search", placeholder: "Filter", ariaLabel: "Filter " + label.toLowerCase()});
        const told = make("output", {});
        const tell = () => {
          const terms = input.value.toLowerCase().split(/\s+/);
          let shown = 0;
          for (const [text, row] of rows) {
            row.hidden = !terms.every(term => text.includes(term));
            if (!row.hidden) shown += 1;
          }
          told.textContent = count(shown) + " of " + count(rows.length);
        };
        input.addEventListener("input", tell);
        tell();
        frame.before(make("div", {className: "tools"}, input, told));
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
        if (body.rows.length > 5) filter(frame, body);
      }

      for (const code of all(".line code")) {
        const button = make("button", {type: "button", className: "button"}, "Copy");
        button.addEventListener("click", async () => {
          try {
            await navigator.clipboard.writeText(code.textContent);
            button.textContent = "Copied";
          } catch {
            getSelection().selectAllChildren(code);
          }
        });
        code.after(button);
      }

      const kinds = all("details.kind");
      if (kinds.length > 1) {
        const button = make("button", {type: "button", className: "button"}, "Open all");
        button.addEventListener("click", () => {
          const isOpening = kinds.some(kind => !kind.open);
          kinds.forEach(kind => { kind.open = isOpening; });
          button.textContent = isOpening ? "Close all" : "Open all";
        });
        document.querySelector("#failures .head").append(button);
      }
      addEventListener("beforeprint", () => kinds.forEach(kind => { kind.open = true; }));
    })();
    """#
}
