import { counter } from "../../plural.ts";
import type { OverviewMessages } from "./en.ts";

const count = counter("es");

export const es: OverviewMessages = {
  title: "Resumen",
  time: "Periodo",
  days: count({ one: "# día", other: "# días" }),
  year: "12 meses",
  otherTime: "Otro periodo",
  from: "Primer día",
  to: "Último día",
  show: "Mostrar",
  compared: (now: string, before: string) => `${now}, en comparación con ${before}`,
  totals: {
    submissions: "Propuestas",
    votes: "Votos",
    comments: "Comentarios",
    active_people: "Personas activas",
  },
  reply: "Primera respuesta oficial",
  replied: count({ one: "mediana de # propuesta", other: "mediana de # propuestas" }),
  unreplied: "ninguna tuvo respuesta",
  overTime: "Evolución",
  intervals: {
    day: "Día",
    week: "Semana desde",
    month: "Mes desde",
  },
  movers: "Más votos ganados",
  noMovers: "Nadie votó en este periodo.",
  submission: "Propuesta",
  status: "Estado",
  category: "Categoría",
  source: "Origen",
  votes: "Votos",
  gained: "Ganados",
  byStatus: "Propuestas por estado",
  byCategory: "Propuestas por categoría",
  bySource: "Propuestas por origen",
  noCategory: "Sin categoría",
  noSource: "Este sitio",
};
