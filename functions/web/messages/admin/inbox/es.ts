import { counter } from "../../plural.ts";
import type { InboxMessages } from "./en.ts";

const count = counter("es");

export const es: InboxMessages = {
  title: "Bandeja de entrada",
  state: "Estado",
  states: {
    pending: "En espera",
    rejected: "Rechazados",
    spam: "Spam",
  },
  kind: "Tipo",
  kinds: {
    all: "Todo",
    submission: "Propuestas",
    comment: "Comentarios",
  },
  count: count({ one: "# elemento", other: "# elementos" }),
  emptyTitle: "Nada pendiente",
  emptyText: "Las propuestas y los comentarios nuevos que necesitan aprobación aparecen aquí solos.",
  noneTitle: "Nada por aquí",
  choose: "Elegir",
  bulk: "Seleccionar todo",
  commentOn: "Comentario en",
  trusted: "Autor de confianza",
  untrusted: "Aún sin confianza",
  actions: {
    approve: "Aprobar",
    reject: "Rechazar",
    spam: "Spam",
  },
  more: "Confianza y motivo",
  trust: "Lo que publique este autor ya no necesitará aprobación (al aprobar)",
  reason: "Motivo, solo para el registro de auditoría",
  undo: "Deshacer",
  keysOn: "Atajos de teclado",
  shortcuts: {
    next: "siguiente",
    previous: "anterior",
    approve: "aprobar",
    reject: "rechazar",
    spam: "marcar como spam",
    choose: "elegir",
    undo: "deshacer",
  },
  done: {
    approve: count({ one: "# aprobado.", other: "# aprobados." }),
    reject: count({ one: "# rechazado.", other: "# rechazados." }),
    spam: count({ one: "# marcado como spam.", other: "# marcados como spam." }),
    reopen: count({ one: "# vuelve a esperar.", other: "# vuelven a esperar." }),
  },
  changed: count({
    one: "# texto cambió después de que lo leyeras. Lee abajo la versión actual y decide de nuevo.",
    other:
      "# textos cambiaron después de que los leyeras. Lee abajo las versiones actuales y decide de nuevo.",
  }),
  failed: count({
    one: "# no se pudo decidir: ya no existe o no está aprobado aquello a lo que responde.",
    other: "# no se pudieron decidir: ya no existen o no está aprobado aquello a lo que responden.",
  }),
  succeeded: count({ one: "Se decidió # más.", other: "Se decidieron # más." }),
  decided: {
    approved: "Otra persona acaba de aprobarlo.",
    rejected: "Otra persona acaba de rechazarlo.",
    spam: "Otra persona acaba de marcarlo como spam.",
    pending: "Otra persona acaba de dejarlo en espera de nuevo.",
  },
};
