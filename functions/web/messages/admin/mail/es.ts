import type { MailSettingsMessages } from "./en.ts";

export const es: MailSettingsMessages = {
  title: "Correo",
  text: "Lo que las personas reciben por correo si no eligen otra cosa. Cada una lo elige en Ajustes, Correo, o con los enlaces de cada mensaje.",
  enabled: "Las personas reciben correo de lo que ocurre aquí",
  enabledHint: "Cada persona elige lo que recibe y puede cancelarlo.",
  usedUp:
    "Los correos de hoy a direcciones sin confirmar se han agotado: los demás irán en el próximo resumen.",
  kinds: {
    status: "Un estado nuevo de lo que enviaron o siguen",
    official: "Una respuesta oficial",
    reply: "Una respuesta a su comentario",
    comment: "Otros comentarios en lo que siguen",
    survey: "Una encuesta que el equipo les pide responder",
    team: "Para el equipo: propuestas nuevas",
  },
  save: "Guardar",
  stopped: "Quién no recibe correo",
  stoppedText:
    "Primero los más recientes, máximo 1000. Las direcciones solo se guardan como hash: búscalas completas.",
  email: "Dirección de correo",
  find: "Buscar",
  name: "Nombre",
  noAccount: "Sin cuenta",
  reason: "Motivo",
  reasons: {
    refused: "Canceló todo el correo",
    bounced: "Su servidor de correo lo rechazó",
    complained: "Lo marcó como spam",
  },
  since: "Desde",
  nobody: "Nadie.",
  notStopped: "Esta organización no tiene detenido el correo a esta dirección.",
  lift: "Enviar de nuevo",
  liftHint:
    "Solo para un buzón que vuelve a funcionar. Quien canceló el correo solo puede reanudarlo por sí mismo. Para una persona sin cuenta, busca primero su dirección.",
  done: {
    saved: "Los ajustes se han guardado.",
    lifted: "Se vuelve a enviar correo a esta dirección.",
  },
};
