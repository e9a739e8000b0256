import { counter } from "../../plural.ts";
import type { OverviewMessages } from "./en.ts";

const count = counter("pt-BR");

export const ptBR: OverviewMessages = {
  title: "Visão geral",
  time: "Período",
  days: count({ one: "# dia", other: "# dias" }),
  year: "12 meses",
  otherTime: "Outro período",
  from: "Primeiro dia",
  to: "Último dia",
  show: "Mostrar",
  compared: (now: string, before: string) => `${now}, em comparação com ${before}`,
  totals: {
    submissions: "Contribuições",
    votes: "Votos",
    comments: "Comentários",
    active_people: "Pessoas ativas",
  },
  reply: "Primeira resposta oficial",
  replied: count({ one: "mediana de # contribuição", other: "mediana de # contribuições" }),
  unreplied: "nenhuma foi respondida",
  overTime: "Evolução",
  intervals: {
    day: "Dia",
    week: "Semana de",
    month: "Mês de",
  },
  movers: "Mais votos ganhos",
  noMovers: "Ninguém votou neste período.",
  submission: "Contribuição",
  status: "Status",
  category: "Categoria",
  source: "Origem",
  votes: "Votos",
  gained: "Ganhos",
  byStatus: "Contribuições por status",
  byCategory: "Contribuições por categoria",
  bySource: "Contribuições por origem",
  noCategory: "Sem categoria",
  noSource: "Este site",
};
