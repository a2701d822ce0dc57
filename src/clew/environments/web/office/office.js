"use strict";
const $ = (id) => document.getElementById(id);
const load = (key, otherwise) => JSON.parse(localStorage.getItem(key)) ?? otherwise;
const save = (key, value) => localStorage.setItem(key, JSON.stringify(value));

const people = load("people", [
  { name: "Ada", room: "101", phone: "1815" },
  { name: "Blaise", room: "102", phone: "1623" },
  { name: "Emmy", room: "201", phone: "1882" },
  { name: "Kurt", room: "202", phone: "1906" },
]);
const notes = load("notes", []);
let wanted = "";
let edited = null;

function keep() {
  save("people", people);
  draw();
}

function button(label, act) {
  const made = document.createElement("button");
  made.textContent = label;
  made.addEventListener("click", act);
  return made;
}

function draw() {
  const shown = people.filter((p) => p.name.toLowerCase().includes(wanted));
  $("rows").replaceChildren(...shown.map((person) => {
    const row = document.createElement("tr");
    const head = document.createElement("th");
    head.scope = "row";
    head.textContent = person.name;
    row.append(head);
    for (const key of ["room", "phone"]) row.insertCell().textContent = person[key];
    row.insertCell().append(
      button("Edit", () => edit(person)),
      button("Delete", () => {
        if (!confirm(`Delete ${person.name}?`)) return;
        people.splice(people.indexOf(person), 1);
        keep();
      }),
    );
    return row;
  }));
  $("note-list").replaceChildren(...notes.map((note) => {
    const item = document.createElement("li");
    item.textContent = `${note.title}: ${note.text}`;
    return item;
  }));
}

function edit(person) {
  edited = person;
  for (const key of ["name", "room", "phone"]) $(`edit-${key}`).value = person[key];
  $("editor").returnValue = "";
  $("editor").showModal();
}

let waiting;
$("search").addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    wanted = $("search").value.trim().toLowerCase();
    draw();
    $("found").textContent = wanted ? `${$("rows").children.length} found` : "";
  }, 300);
});
$("editor").addEventListener("close", () => {
  if ($("editor").returnValue !== "save") return;
  for (const key of ["name", "room", "phone"]) edited[key] = $(`edit-${key}`).value;
  if (!people.includes(edited)) people.push(edited);
  keep();
});
$("add").addEventListener("click", () => {
  const name = prompt("Name of the new person", "");
  if (name) edit({ name, room: "", phone: "" });
});
$("export").addEventListener("click", () => {
  const lines = ["name,room,phone", ...people.map((p) => `${p.name},${p.room},${p.phone}`)];
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([`${lines.join("\n")}\n`], { type: "text/csv" }));
  link.download = "people.csv";
  link.click();
});
$("import").addEventListener("change", async () => {
  const text = await $("import").files[0].text();
  for (const name of text.split("\n").map((n) => n.trim()).filter(Boolean)) {
    people.push({ name, room: "", phone: "" });
  }
  keep();
});
$("note-save").addEventListener("click", () => {
  notes.push({ title: $("note-title").value, text: $("note-text").value });
  save("notes", notes);
  $("note-title").value = $("note-text").value = "";
  draw();
});
$("form").addEventListener("submit", (event) => {
  event.preventDefault();
  save("settings", {
    language: $("language").value,
    mail: $("mail").checked,
    theme: document.querySelector("[name=theme]:checked").value,
    volume: Number($("volume").value),
  });
  $("saved").textContent = "Saved";
});
for (const tab of document.querySelectorAll("[role=tab]")) {
  tab.addEventListener("click", () => {
    for (const other of document.querySelectorAll("[role=tab]")) {
      other.setAttribute("aria-selected", String(other === tab));
      $(other.getAttribute("aria-controls")).hidden = other !== tab;
    }
  });
}
draw();
