import type { MailTexts } from "../en/mail.ts";
import { counter } from "../plural.ts";

const count = counter("es");

export const mail: MailTexts = {
  mail: {
    newStatus: (status) => `Nuevo estado: ${status}`,
    replyBy: (name) => `${name} respondió a tu comentario`,
    submittedBy: (name) => `Enviada por ${name}`,
    open: "Abrir la propuesta",
    openBoard: "Abrir el tablero",
    digest: (organization) => `Novedades de ${organization}`,
    digestText: count({ one: "# novedad en lo que sigues", other: "# novedades en lo que sigues" }),
    team: (organization) => `Nuevas propuestas para ${organization}`,
    teamText: count({ one: "# propuesta nueva", other: "# propuestas nuevas" }),
    more: count({ one: "Y # más en el tablero.", other: "Y # más en el tablero." }),
    why: (organization) => `Recibes este correo porque participas en las propuestas de ${organization}.`,
    whyTeam: (organization) => `Recibes este correo porque formas parte del equipo de ${organization}.`,
    whyAuthor: (organization) =>
      `${organization} nos dio tu dirección junto con opiniones tuyas. Puedes dejar de recibir todos sus correos con un clic.`,
    invite: (organization) => `Invitación al equipo de ${organization}`,
    invites: (name, organization) => `${name} te invita al equipo de ${organization}`,
    inviteUntil: (day) =>
      `Inicia sesión con esta dirección o crea una cuenta con ella. La invitación es válida hasta el ${day}.`,
    whyInvite: (organization) =>
      `El equipo de ${organization} indicó esta dirección para invitarte. Si no lo esperabas, ignóralo.`,
    refuseText: (organization) =>
      `${organization} no enviará nada más a esta dirección, tampoco invitaciones.`,
    unsubscribe: "No recibir más correos de este tipo",
    mute: "No recibir más correos sobre esta propuesta",
    choose: "Elegir qué correos recibes",
    chooseOrStop: "Elegir qué correos recibes, o no recibir ninguno",
    title: "Correo",
    intro: (organization) => `Qué correos te envía ${organization}.`,
    disabled: (organization) =>
      `${organization} no envía correos por ahora. Lo que elijas valdrá cuando lo haga.`,
    otherComments: "Otros comentarios en lo que sigues",
    teamSummary: "Resumen de propuestas nuevas",
    choices: { at_once: "Al momento", daily: "Cada día", weekly: "Cada semana", never: "Nunca" },
    stop: (organization) => `No recibir ningún correo de ${organization}`,
    stopped: (organization) => `No recibes correos de ${organization}.`,
    bounced:
      "Tu servidor de correo rechazó nuestros mensajes, así que no enviamos ninguno. Avisa al equipo si eso ha cambiado.",
    resume: "Volver a recibir correos",
    muted: "Sin correos sobre",
    unmute: "Volver a recibir correos",
    muteThis: "¿No recibir más correos sobre esta propuesta?",
    unsubscribeTitle: "¿No recibir más correos de este tipo?",
    unsubscribeText: (kind, organization) => `${organization} te envía: ${kind}.`,
    digests: "Resúmenes",
    unsubscribeNow: "No recibir más",
    accountsText:
      "Alguien ha indicado aquí tu dirección. La cuenta creada con ella se elimina y durante 90 días no recibirás correos sobre cuentas que otros creen con ella. Si tienes una cuenta propia, no cambia nada.",
    accountsStopped:
      "Listo: no recibirás más correos sobre cuentas que otros creen con tu dirección. Si quieres una cuenta aquí, vuelve antes a recibir correos.",
    unsubscribed: "Listo: no recibirás más correos de este tipo.",
    newSurvey: (organization) => `${organization} te pide tu opinión`,
    surveyReminder: (organization) => `${organization} aún espera tu respuesta`,
    answerSurvey: "Responder a la encuesta",
    surveys: "Encuestas",
    claim: "¿Tienes una cuenta? Haz tuyo lo que escribiste",
  },
  authMail: {
    code: "Tu código:",
    hint: "Introdúcelo donde se te pida o usa el botón. Ambos sirven una sola vez y por poco tiempo.",
    hintCode: "Introdúcelo donde se te pida. Sirve una sola vez y por poco tiempo.",
    ignore: "¿No lo has pedido tú? Entonces no hagas nada: sin el código ni el botón nada cambia.",
    why: "Recibes este correo porque trata de la seguridad de tu cuenta.",
    stop: "No fui yo: no quiero más correos así",
    undo: "Deshacer el cambio",
    undoHint: (site) =>
      `¿No has sido tú? Entonces deshazlo: durante una semana, este enlace cierra todas las sesiones y te deja elegir una contraseña nueva. Avisa también a quienes llevan ${site}.`,
    notYou: (site) =>
      `¿No has sido tú? Entonces elige enseguida una contraseña nueva y avisa a quienes llevan ${site}.`,
    names: {
      totp: "Aplicación de autenticación",
      phone: "Teléfono",
      webauthn: "Llave de acceso",
      email: "Correo electrónico",
    },
    signup: {
      subject: "Confirma tu dirección",
      text: "Alguien, probablemente tú, quiere una cuenta con esta dirección. Si has sido tú, confirma que la dirección es tuya.",
      act: "Confirmar la dirección",
    },
    magiclink: {
      subject: "Iniciar sesión",
      text: "Alguien, probablemente tú, quiere iniciar sesión con esta dirección.",
      act: "Iniciar sesión",
    },
    recovery: {
      subject: "Elige una contraseña nueva",
      text: "Alguien, probablemente tú, ha pedido una contraseña nueva para esta dirección.",
      act: "Elegir una contraseña nueva",
    },
    email_change: {
      subject: "Confirma tu nueva dirección",
      text: "Alguien, probablemente tú, ha elegido esta dirección para una cuenta. Si has sido tú, confirma que la dirección es tuya.",
      act: "Confirmar la dirección",
    },
    email_change_current: {
      subject: "Confirma el cambio de tu dirección",
      text: "Alguien, probablemente tú, quiere otra dirección para tu cuenta. Cambiará cuando las dos direcciones lo hayan confirmado. A partir de entonces, los códigos y demás correos llegarán solo a la nueva.",
      act: "Confirmar el cambio",
    },
    invite: {
      subject: "Has recibido una invitación",
      text: "Alguien ha creado una cuenta para esta dirección.",
      act: "Aceptar la invitación",
    },
    reauthentication: {
      subject: "Confirma que eres tú",
      text: "Alguien, probablemente tú, está cambiando algo importante de tu cuenta.",
    },
    password_changed_notification: {
      subject: "Se ha cambiado tu contraseña",
      text: "Tu cuenta tiene una contraseña nueva.",
    },
    email_changed_notification: {
      subject: "Se ha cambiado la dirección de tu cuenta",
      text: "La dirección que recibe este correo ya no es la de tu cuenta. Los códigos y demás correos llegan ahora a la nueva.",
    },
    phone_changed_notification: {
      subject: "Se ha cambiado tu número de teléfono",
      text: "Tu cuenta tiene un número de teléfono nuevo.",
    },
    identity_linked_notification: {
      subject: "Hay una forma nueva de iniciar sesión",
      text: "Se ha añadido a tu cuenta una forma de iniciar sesión.",
    },
    identity_unlinked_notification: {
      subject: "Se ha quitado una forma de iniciar sesión",
      text: "Ya no se puede iniciar sesión en tu cuenta de esta forma.",
    },
    mfa_factor_enrolled_notification: {
      subject: "Se ha añadido un segundo factor",
      text: "Iniciar sesión en tu cuenta requiere ahora un paso más.",
    },
    mfa_factor_unenrolled_notification: {
      subject: "Se ha quitado un segundo factor",
      text: "Al iniciar sesión en tu cuenta ya no se pide este factor.",
    },
  },
};
