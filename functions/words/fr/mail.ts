import type { MailTexts } from "../en/mail.ts";
import { counter } from "../plural.ts";

const count = counter("fr");

export const mail: MailTexts = {
  mail: {
    newStatus: (status) => `Nouveau statut : ${status}`,
    replyBy: (name) => `${name} a répondu à votre commentaire`,
    submittedBy: (name) => `Proposé par ${name}`,
    open: "Ouvrir la proposition",
    openBoard: "Ouvrir le tableau",
    digest: (organization) => `Nouvelles de ${organization}`,
    digestText: count({
      one: "# nouveauté sur ce que vous suivez",
      other: "# nouveautés sur ce que vous suivez",
    }),
    team: (organization) => `Nouveaux retours pour ${organization}`,
    teamText: count({ one: "# nouvelle proposition", other: "# nouvelles propositions" }),
    more: count({ one: "Et # autre sur le tableau.", other: "Et # autres sur le tableau." }),
    why: (organization) =>
      `Vous recevez ce message parce que vous participez aux retours de ${organization}.`,
    whyTeam: (organization) =>
      `Vous recevez ce message parce que vous faites partie de l’équipe de ${organization}.`,
    whyAuthor: (organization) =>
      `${organization} nous a donné votre adresse avec un retour de votre part. Vous pouvez arrêter tous ces messages en un clic.`,
    invite: (organization) => `Invitation dans l’équipe de ${organization}`,
    invites: (name, organization) => `${name} vous invite dans l’équipe de ${organization}`,
    inviteUntil: (day) =>
      `Connectez-vous avec cette adresse ou créez un compte avec elle. L’invitation est valable jusqu’au ${day}.`,
    whyInvite: (organization) =>
      `L’équipe de ${organization} a saisi cette adresse pour vous inviter. Si vous ne savez pas pourquoi, ne faites rien.`,
    refuseText: (organization) =>
      `${organization} n’enverra plus rien à cette adresse, pas même des invitations.`,
    unsubscribe: "Ne plus recevoir ce type de message",
    mute: "Ne plus recevoir de messages sur cette proposition",
    choose: "Choisir les messages que vous recevez",
    chooseOrStop: "Choisir les messages que vous recevez, ou tout arrêter",
    title: "E-mails",
    intro: (organization) => `Les messages que ${organization} vous envoie.`,
    disabled: (organization) =>
      `${organization} n’envoie pas de messages pour le moment. Vos choix vaudront quand ce sera le cas.`,
    otherComments: "Autres commentaires sur ce que vous suivez",
    teamSummary: "Résumé des nouveaux retours",
    choices: { at_once: "Tout de suite", daily: "Chaque jour", weekly: "Chaque semaine", never: "Jamais" },
    stop: (organization) => `Arrêter tous les messages de ${organization}`,
    stopped: (organization) => `Vous ne recevez pas de messages de ${organization}.`,
    bounced:
      "Votre serveur de messagerie a refusé nos messages : nous n’en envoyons plus. Prévenez l’équipe si cela a changé.",
    resume: "Recevoir à nouveau des messages",
    muted: "Pas de messages sur",
    unmute: "Recevoir à nouveau des messages",
    muteThis: "Ne plus recevoir de messages sur cette proposition ?",
    unsubscribeTitle: "Ne plus recevoir ce type de message ?",
    unsubscribeText: (kind, organization) => `${organization} vous envoie : ${kind}.`,
    digests: "Résumés",
    unsubscribeNow: "Ne plus recevoir",
    accountsText:
      "Quelqu’un a saisi votre adresse ici. Le compte créé avec elle est supprimé et, pendant 90 jours, vous ne recevrez plus de messages sur des comptes que d’autres créent avec elle. Un compte à vous reste tel quel.",
    accountsStopped:
      "C’est fait : vous ne recevrez plus de messages sur des comptes que d’autres créent avec votre adresse. Si vous voulez un compte ici, recevez d’abord à nouveau les messages.",
    unsubscribed: "C’est fait : vous ne recevrez plus ce type de message.",
    newSurvey: (organization) => `${organization} vous demande votre avis`,
    surveyReminder: (organization) => `${organization} espère encore votre réponse`,
    answerSurvey: "Répondre à l’enquête",
    surveys: "Enquêtes",
    claim: "Vous avez un compte ? Récupérez ces retours",
  },
  authMail: {
    code: "Votre code :",
    hint: "Saisissez-le là où il est demandé, ou utilisez le bouton. Les deux ne servent qu’une fois, et pour peu de temps.",
    hintCode: "Saisissez-le là où il est demandé. Il ne sert qu’une fois, et pour peu de temps.",
    ignore: "Vous n’avez rien demandé ? Alors ne faites rien : sans le code ni le bouton, rien ne change.",
    why: "Vous recevez ce message car il concerne la sécurité de votre compte.",
    stop: "Ce n’était pas moi : plus de messages de ce genre",
    undo: "Annuler la modification",
    undoHint: (site) =>
      `Ce n’était pas vous ? Annulez alors : pendant une semaine, ce lien ferme toutes les sessions et vous laisse choisir un nouveau mot de passe. Prévenez aussi les responsables de ${site}.`,
    notYou: (site) =>
      `Ce n’était pas vous ? Choisissez tout de suite un nouveau mot de passe et prévenez les responsables de ${site}.`,
    names: {
      totp: "Application d’authentification",
      phone: "Téléphone",
      webauthn: "Clé d’accès",
      email: "E-mail",
    },
    signup: {
      subject: "Confirmez votre adresse",
      text: "Quelqu’un, sans doute vous, veut un compte avec cette adresse. Si c’est bien vous, confirmez que l’adresse est la vôtre.",
      act: "Confirmer l’adresse",
    },
    magiclink: {
      subject: "Se connecter",
      text: "Quelqu’un, sans doute vous, veut se connecter avec cette adresse.",
      act: "Se connecter",
    },
    recovery: {
      subject: "Choisissez un nouveau mot de passe",
      text: "Quelqu’un, sans doute vous, a demandé un nouveau mot de passe pour cette adresse.",
      act: "Choisir un nouveau mot de passe",
    },
    email_change: {
      subject: "Confirmez votre nouvelle adresse",
      text: "Quelqu’un, sans doute vous, a choisi cette adresse pour un compte. Si c’est bien vous, confirmez que l’adresse est la vôtre.",
      act: "Confirmer l’adresse",
    },
    email_change_current: {
      subject: "Confirmez le changement de votre adresse",
      text: "Quelqu’un, sans doute vous, veut une autre adresse pour votre compte. Elle sera prise en compte quand les deux adresses auront confirmé. Les codes et les autres messages iront alors seulement à la nouvelle.",
      act: "Confirmer le changement",
    },
    invite: {
      subject: "Vous êtes invité",
      text: "Quelqu’un a créé un compte pour cette adresse.",
      act: "Accepter l’invitation",
    },
    reauthentication: {
      subject: "Confirmez que c’est bien vous",
      text: "Quelqu’un, sans doute vous, modifie un réglage important de votre compte.",
    },
    password_changed_notification: {
      subject: "Votre mot de passe a été changé",
      text: "Votre compte a un nouveau mot de passe.",
    },
    email_changed_notification: {
      subject: "L’adresse de votre compte a été changée",
      text: "L’adresse qui reçoit ce message n’est plus celle de votre compte. Les codes et les autres messages vont désormais à la nouvelle.",
    },
    phone_changed_notification: {
      subject: "Votre numéro de téléphone a été changé",
      text: "Votre compte a un nouveau numéro de téléphone.",
    },
    identity_linked_notification: {
      subject: "Il y a un nouveau moyen de se connecter",
      text: "Un moyen de se connecter a été ajouté à votre compte.",
    },
    identity_unlinked_notification: {
      subject: "Un moyen de se connecter a été retiré",
      text: "Ce moyen ne permet plus de se connecter à votre compte.",
    },
    mfa_factor_enrolled_notification: {
      subject: "Un second facteur a été ajouté",
      text: "La connexion à votre compte demande désormais une étape de plus.",
    },
    mfa_factor_unenrolled_notification: {
      subject: "Un second facteur a été retiré",
      text: "La connexion à votre compte ne demande plus ce facteur.",
    },
  },
};
